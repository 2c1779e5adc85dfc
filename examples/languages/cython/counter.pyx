# cython: language_level=3
"""A Python extension module in Cython with two flags. It does not link paddle_flags.

    cython counter.pyx
    cc -shared -fPIC $(python3-config --includes) \
       $(python -m paddle_flags config --cflags) counter.c -o counter.so
"""

cdef extern from *:
    """
    #include <pd_flags.h>

    PD_DEFINE_int32 (cython_limit, 100,    "Where to stop counting", .min = 0);
    PD_DEFINE_string(cython_unit,  "word", "What to count", .choices = "word|line");
    """
    int FLAGS_cython_limit
    const char *FLAGS_cython_unit


def number():
    return FLAGS_cython_limit


def text():
    return FLAGS_cython_unit.decode()
