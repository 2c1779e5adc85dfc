/* A source that two plugins have in common. */
#include PEER_HEADER

DEFINE_NUMBER(common_n, 1, "A flag of both");
