//! A plugin in Rust with two flags. It does not link paddle_flags.
//!
//!     rustc --crate-type cdylib -O scanner.rs -o libscanner.so

#[path = "../../../paddle_flags/_new/templates/rust/src/pd_flags.rs"]
mod pd_flags;

use pd_flags::{Definition, Value, INT32, STRING};
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

static DEPTH: AtomicI32 = AtomicI32::new(4);
static FORMAT: AtomicPtr<c_char> = AtomicPtr::new(c"text".as_ptr().cast_mut());

static DEPTH_DEFINITION: Definition = Definition {
    name: c"rust_depth".as_ptr(),
    help: c"How many folders deep to look".as_ptr(),
    min: Value { integer: 1 },
    max: Value { integer: 64 },
    default_value: Value { integer: 4 },
    cell: DEPTH.as_ptr().cast(),
    ..Definition::new(INT32, line!())
};

static FORMAT_DEFINITION: Definition = Definition {
    name: c"rust_format".as_ptr(),
    help: c"How to print".as_ptr(),
    choices: c"text|json".as_ptr(),
    default_value: Value {
        text: c"text".as_ptr(),
    },
    cell: FORMAT.as_ptr().cast(),
    ..Definition::new(STRING, line!())
};

pd_flags::module!(DEPTH_DEFINITION, FORMAT_DEFINITION);

#[no_mangle]
pub extern "C" fn number() -> c_int {
    DEPTH.load(Ordering::Relaxed)
}

#[no_mangle]
pub extern "C" fn text() -> *const c_char {
    FORMAT.load(Ordering::Acquire)
}
