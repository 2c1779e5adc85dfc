//! A plugin in Rust with a scoped flag, and with operations, one of which is scoped, too. It does not link paddle_flags.
//!
//!     rustc --crate-type cdylib -O filter.rs -o libfilter.so

#[path = "../../../paddle_flags/_new/templates/rust/src/pd_flags.rs"]
mod pd_flags;

use pd_flags::{Definition, Operation, ScopedCell, ScopedSlot, Signature, Slot, Value, INT32};
use std::ffi::{c_char, c_int};
use std::ptr::null;
use std::sync::atomic::AtomicI32;

// ---- A flag that may have another value in one thread ----

static WIDTH: ScopedCell<AtomicI32> = ScopedCell::new(AtomicI32::new(3));

static WIDTH_DEFINITION: Definition = Definition {
    name: c"rust_width".as_ptr(),
    help: c"How many neighbours count".as_ptr(),
    min: Value { integer: 1 },
    max: Value { integer: 99 },
    default_value: Value { integer: 3 },
    cell: WIDTH.as_ptr(),
    ..Definition::scoped(INT32, line!())
};

#[no_mangle]
pub extern "C" fn width() -> c_int {
    WIDTH.get()
}

// ---- An operation whose choice may differ by thread, and another implementation of it ----

type Smooth = extern "C" fn(f64, i32) -> f64;

extern "C" fn smooth_simply(x: f64, width: i32) -> f64 {
    x / f64::from(width)
}

/// It rounds twice.
extern "C" fn smooth_fast(x: f64, width: i32) -> f64 {
    x * (1.0 / f64::from(width))
}

/// Why it can't run here, or null.
extern "C" fn lacks_sse2() -> *const c_char {
    #[cfg(target_arch = "x86_64")]
    if !is_x86_feature_detected!("sse2") {
        return c"the CPU lacks sse2".as_ptr();
    }
    null()
}

static SMOOTH: ScopedSlot<Smooth> = ScopedSlot::new(smooth_simply);
static SMOOTH_SIGNATURE: Signature<Smooth> =
    Signature::new(c"rust_smooth", c"double (double, int32_t)");

static SMOOTH_OPERATION: Operation = Operation {
    help: c"One of many values".as_ptr(),
    ..Operation::define_scoped(&SMOOTH_SIGNATURE, &SMOOTH, smooth_simply, pd_flags::here!())
};
static SMOOTH_FAST: Operation = Operation {
    rank: 100,
    usable: Some(lacks_sse2),
    ..Operation::implement(&SMOOTH_SIGNATURE, c"fast", smooth_fast, pd_flags::here!())
};

#[no_mangle]
pub extern "C" fn smooth(x: f64) -> f64 {
    SMOOTH.get()(x, WIDTH.get())
}

// ---- An operation that another module defines ----

type Sharpen = extern "C" fn(*mut f64, usize) -> c_int;

extern "C" fn sharpen_nothing(_values: *mut f64, _count: usize) -> c_int {
    -1
}

extern "C" fn sharpen_twice(values: *mut f64, count: usize) -> c_int {
    for value in unsafe { std::slice::from_raw_parts_mut(values, count) } {
        *value *= 2.0;
    }
    count as c_int
}

static SHARPEN: Slot<Sharpen> = Slot::new(sharpen_nothing);
static SHARPEN_SIGNATURE: Signature<Sharpen> =
    Signature::new(c"sharpen", c"int (double *, size_t)");
static SHARPEN_IMPORT: Operation = Operation::import(
    &SHARPEN_SIGNATURE,
    &SHARPEN,
    sharpen_nothing,
    pd_flags::here!(),
);
static SHARPEN_TWICE: Operation = Operation::implement(
    &SHARPEN_SIGNATURE,
    c"twice",
    sharpen_twice,
    pd_flags::here!(),
);

#[no_mangle]
pub extern "C" fn sharpen(value: f64) -> f64 {
    let mut values = [value];
    let count = SHARPEN.get()(values.as_mut_ptr(), values.len());
    values[0] * f64::from(count)
}

pd_flags::module!(
    WIDTH_DEFINITION,
    SMOOTH_OPERATION,
    SMOOTH_FAST,
    SHARPEN_IMPORT,
    SHARPEN_TWICE
);
