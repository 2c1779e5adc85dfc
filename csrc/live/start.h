/* LD_PRELOAD: serving a program whose own code doesn't. */
#ifndef PD_LIVE_START_H
#define PD_LIVE_START_H

/* In the child of a fork: go on with waiting for a registry. */
void pd__start_forked(void);

#endif /* PD_LIVE_START_H */
