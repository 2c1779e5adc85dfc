/* 1,000 implementations of pow. */
#include <pd_flags.h>

static double one_of_many(double x, double y) { return x * 0 + y * 0 + 12; }
PD_DECLARE_OP(pow, double, (double, double));
PD_IMPORT_OP(pow, double, (double, double), one_of_many);
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ONE(n) PD_IMPL(pow, n, one_of_many);
#define T1(n) TEN(ONE, n)
#define T2(n)                                                                                      \
  T1(n##0) T1(n##1) T1(n##2) T1(n##3) T1(n##4) T1(n##5) T1(n##6) T1(n##7) T1(n##8) T1(n##9)
T2(a) T2(b) T2(c) T2(d) T2(e) T2(f) T2(g) T2(h) T2(i) T2(j)
