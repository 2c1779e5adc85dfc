/* HMAC (RFC 2104) with SHA-256, for digests of flags that are sensitive. */
#ifndef PD_FLEET_HMAC_H
#define PD_FLEET_HMAC_H

enum { PD__HMAC_SIZE = 33 };

/* Write the first 32 hexadecimal digits, and a NUL, for the text "name=text". */
void pd__hmac_hex(const char *key, const char *name, const char *text, char out[PD__HMAC_SIZE]);

#endif /* PD_FLEET_HMAC_H */
