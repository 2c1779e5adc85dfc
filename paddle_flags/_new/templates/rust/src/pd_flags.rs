//! What a module has in its image so that the registry finds its flags, as
//! docs/reference/abi.md defines it, for 64-bit ELF systems.
#![allow(dead_code)] // a module may use part of it

use std::ffi::{c_char, c_int, c_void, CStr};
use std::marker::PhantomData;
use std::mem::{size_of, transmute, transmute_copy};
use std::ptr::{null, null_mut};
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering,
};

pub const INT32: u8 = 2;
pub const STRING: u8 = 7;
const OP: u8 = 2;
const OP_IMPORT: u8 = 3;
const IMPL: u8 = 4;

#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    pub integer: i64,
    pub text: *const c_char,
}

/// pd_flag_def
#[repr(C)]
pub struct Definition {
    pub size: u32,
    pub line: u32,
    pub kind_of_value: u8,
    pub kind: u8,
    pub hidden: bool,
    pub read_only: bool,
    pub startup_only: bool,
    pub reserved: [u8; 3],
    pub name: *const c_char,
    pub help: *const c_char,
    pub file: *const c_char,
    pub choices: *const c_char,
    pub category: *const c_char,
    pub aliases: *const c_char,
    pub module: *const c_char,
    pub cell: *mut c_void,
    pub default_value: Value,
    pub min: Value,
    pub max: Value,
    pub functions: [*const c_void; 4], // validate, watch, context and access
    pub marks: [bool; 4],              // assignable, required, optional and multi
    pub scoped: bool,
    pub changes: [bool; 5], // runtime, unsafe, per_process, count and merge
    pub reserved_too: [u8; 5],
    pub scoped_cell: bool,
    pub texts: [*const c_char; 5], // unit, deprecated, retired, old_names and metavar
    pub convert: *const c_void,
}

// Definitions are constant; their cells are atomic.
unsafe impl Sync for Definition {}

impl Definition {
    pub const fn new(kind_of_value: u8, line: u32) -> Definition {
        Definition {
            size: size_of::<Definition>() as u32,
            line,
            kind_of_value,
            kind: 0,
            hidden: false,
            read_only: false,
            startup_only: false,
            reserved: [0; 3],
            name: null(),
            help: null(),
            file: unsafe { CStr::from_bytes_with_nul_unchecked(concat!(file!(), "\0").as_bytes()) }
                .as_ptr(),
            choices: null(),
            category: null(),
            aliases: null(),
            module: null(),
            cell: null_mut(),
            default_value: Value { integer: 0 },
            min: Value {
                integer: i32::MIN as i64,
            },
            max: Value {
                integer: i32::MAX as i64,
            },
            functions: [null(); 4],
            marks: [false; 4],
            scoped: false,
            changes: [false; 5],
            reserved_too: [0; 5],
            scoped_cell: false,
            texts: [null(); 5],
            convert: null(),
        }
    }

    /// Of a flag whose cell is a ScopedCell.
    pub const fn scoped(kind_of_value: u8, line: u32) -> Definition {
        Definition {
            scoped: true,
            scoped_cell: true,
            ..Definition::new(kind_of_value, line)
        }
    }

    pub const fn entry(&'static self) -> Entry {
        Entry(self as *const Definition as *const c_void)
    }
}

/// What the record lists: a Definition or an Operation.
#[repr(transparent)]
pub struct Entry(*const c_void);

unsafe impl Sync for Entry {}

const _: () = assert!(size_of::<Definition>() == 200 && size_of::<Operation>() == 88);

/// pd_module_record. The host writes the last two.
#[repr(C)]
pub struct Record {
    pub abi: u32,
    pub size: u32,
    pub defs: *const Entry,
    pub defs_end: *const Entry,
    pub host: AtomicPtr<Host>,
    pub state: AtomicPtr<c_void>,
}

unsafe impl Sync for Record {}

/// pd_host
#[repr(C)]
pub struct Host {
    abi: u32,
    size: u32,
    module_join: extern "C" fn(&Record),
    module_leave: extern "C" fn(&Record),
}

/// pd_copy_record
#[repr(C)]
struct Copy {
    abi: u32,
    size: u32,
    host: AtomicPtr<Host>,
    version: *const c_char,
    candidate: u32,
}

/// Use it once in a module, with all of its definitions and operations.
#[macro_export]
macro_rules! module {
    ($($definition:ident),*) => {
        static LIST: &[$crate::pd_flags::Entry] = &[$($definition.entry()),*];

        static RECORD: $crate::pd_flags::Record = $crate::pd_flags::Record {
            abi: 1,
            size: std::mem::size_of::<$crate::pd_flags::Record>() as u32,
            defs: LIST.as_ptr_range().start,
            defs_end: LIST.as_ptr_range().end,
            host: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
            state: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
        };

        std::arch::global_asm!(
            ".pushsection .note.pd_flags,\"a\",%note",
            ".balign 4",
            ".long 9, 8, 1",
            ".asciz \"pd_flags\"",
            ".balign 4",
            ".long {record} - .",
            ".hidden __ehdr_start",
            ".weak __ehdr_start",
            ".long __ehdr_start - .",
            ".popsection",
            record = sym RECORD,
        );

        #[used]
        #[link_section = ".init_array.00099"]
        static ENTER: extern "C" fn() = {
            extern "C" fn enter() {
                $crate::pd_flags::enter(&RECORD)
            }
            enter
        };

        #[used]
        #[link_section = ".fini_array.00099"]
        static LEAVE: extern "C" fn() = {
            extern "C" fn leave() {
                $crate::pd_flags::leave(&RECORD)
            }
            leave
        };
    };
}
pub use module;

// ---- Flags that may have another value in one thread ----

/// What a value of a scoped flag is in: an atomic variable, at most 8 bytes.
pub trait Atomic {
    type Value;
    fn read(&self) -> Self::Value;
}

macro_rules! atomic {
    ($($variable:ty: $value:ty),*) => {$(
        impl Atomic for $variable {
            type Value = $value;
            fn read(&self) -> $value {
                self.load(Ordering::Acquire)
            }
        }
    )*};
}
atomic!(AtomicBool: bool, AtomicI32: i32, AtomicU32: u32, AtomicI64: i64, AtomicU64: u64);
atomic!(AtomicPtr<c_char>: *mut c_char);

/// pd_scoped_cell. The host writes all of it.
#[repr(C, align(64))]
pub struct ScopedCell<T> {
    value: T,
    find: AtomicPtr<c_void>,
    pub flag: AtomicPtr<c_void>, // for pd_scope_push; null until the module has joined
}

impl<T: Atomic> ScopedCell<T> {
    pub const fn new(value: T) -> ScopedCell<T> {
        assert!(size_of::<T>() <= 8);
        ScopedCell {
            value,
            find: AtomicPtr::new(null_mut()),
            flag: AtomicPtr::new(null_mut()),
        }
    }

    pub const fn as_ptr(&self) -> *mut c_void {
        self as *const ScopedCell<T> as *mut c_void
    }

    /// The value in this thread.
    pub fn get(&self) -> T::Value {
        let find = self.find.load(Ordering::Relaxed);
        if find.is_null() {
            return self.value.read();
        }
        type Find<T> = extern "C" fn(&ScopedCell<T>) -> *const T;
        let find: Find<T> = unsafe { transmute(find) };
        unsafe { &*find(self) }.read()
    }
}

// ---- Operations ----

/// What a pointer in a signature points to. Give your structs the code STRUCT.
pub trait Pointee {
    const CODE: u8;
}

/// The code of a type in a signature.
pub trait Code {
    const CODE: u8;
}

pub const STRUCT: u8 = 14;

/// C's char, which is neither i8 nor u8 in a signature.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Char(pub c_char);

macro_rules! codes {
    ($($code:literal $value:ty),*) => {$(
        impl Pointee for $value {
            const CODE: u8 = $code;
        }
        impl Code for $value {
            const CODE: u8 = $code;
        }
    )*};
}
codes!(2 bool, 3 Char, 4 i8, 5 u8, 6 i16, 7 u16, 8 i32, 9 u32, 10 i64, 11 u64, 12 f32, 13 f64);
codes!(10 isize, 11 usize);

impl Code for () {
    const CODE: u8 = 1;
}
impl Pointee for c_void {
    const CODE: u8 = 1;
}
impl<T: Pointee> Code for *mut T {
    const CODE: u8 = T::CODE + 32;
}
impl<T: Pointee> Code for *const T {
    const CODE: u8 = T::CODE + 64;
}

/// A type of C functions with up to 16 parameters.
pub trait Function: std::marker::Copy {
    const TYPES: [u8; 24];
}

const fn types_of(codes: &[u8]) -> [u8; 24] {
    let mut types = [0; 24];
    let mut i = 0;
    while i < codes.len() {
        types[i] = codes[i];
        i += 1;
    }
    types
}

macro_rules! functions {
    () => {
        functions!(@types; <() as Code>::CODE);
    };
    ($first:ident $($rest:ident)*) => {
        functions!(@types $first $($rest)*; $first::CODE $(, $rest::CODE)*);
        functions!($($rest)*);
    };
    (@types $($each:ident)*; $($codes:expr),*) => {
        impl<R: Code $(, $each: Code)*> Function for extern "C" fn($($each),*) -> R {
            const TYPES: [u8; 24] = types_of(&[R::CODE, $($codes),*]);
        }
        impl<R: Code $(, $each: Code)*> Function for unsafe extern "C" fn($($each),*) -> R {
            const TYPES: [u8; 24] = types_of(&[R::CODE, $($codes),*]);
        }
    };
}
functions!(A B C D E F G H I J K L M N O P);

/// pd_op_signature of functions of type F.
#[repr(C)]
pub struct Signature<F> {
    name: *const c_char,
    text: *const c_char,
    types: [u8; 24],
    of: PhantomData<F>,
}

unsafe impl<F> Sync for Signature<F> {}

impl<F: Function> Signature<F> {
    /// The name of the operation, and the signature as C writes it: it is shown, and it names structs.
    pub const fn new(name: &'static CStr, text: &'static CStr) -> Signature<F> {
        Signature {
            name: name.as_ptr(),
            text: text.as_ptr(),
            types: F::TYPES,
            of: PhantomData,
        }
    }
}

/// The variable through which a module calls an operation.
#[repr(C, align(64))]
pub struct Slot<F> {
    function: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Function> Slot<F> {
    pub const fn new(own: F) -> Slot<F> {
        Slot {
            function: AtomicPtr::new(unsafe { transmute_copy(&own) }),
            of: PhantomData,
        }
    }

    /// The implementation that is chosen.
    pub fn get(&self) -> F {
        let function = self.function.load(Ordering::Acquire);
        unsafe { transmute_copy(&function) }
    }
}

/// pd_scoped_slot: the same for an operation whose choice may differ by thread.
#[repr(C, align(64))]
pub struct ScopedSlot<F> {
    function: AtomicPtr<c_void>,
    find: AtomicPtr<c_void>,
    pub op: AtomicPtr<c_void>,
    of: PhantomData<F>,
}

impl<F: Function> ScopedSlot<F> {
    pub const fn new(own: F) -> ScopedSlot<F> {
        ScopedSlot {
            function: AtomicPtr::new(unsafe { transmute_copy(&own) }),
            find: AtomicPtr::new(null_mut()),
            op: AtomicPtr::new(null_mut()),
            of: PhantomData,
        }
    }

    /// The implementation that is chosen in this thread.
    pub fn get(&self) -> F {
        type Find<F> = extern "C" fn(&ScopedSlot<F>) -> F;
        let find = self.find.load(Ordering::Acquire);
        if find.is_null() {
            let function = self.function.load(Ordering::Acquire);
            return unsafe { transmute_copy(&function) };
        }
        let find: Find<F> = unsafe { transmute(find) };
        find(self)
    }
}

/// Where something is defined: `here!()`.
pub struct Place {
    pub file: *const c_char,
    pub line: u32,
}

#[macro_export]
macro_rules! here {
    () => {
        $crate::pd_flags::Place {
            file: concat!(file!(), "\0").as_ptr().cast(),
            line: line!(),
        }
    };
}
#[allow(unused_imports)]
pub use here;

/// pd_op_def
#[repr(C)]
pub struct Operation {
    pub size: u32,
    pub line: u32,
    pub kind_of_value: u8,
    pub kind: u8,
    pub scoped: bool,
    pub reserved: [u8; 5],
    pub name: *const c_char,
    pub file: *const c_char,
    pub signature: *const c_void,
    pub slot: *const c_void,
    pub function: *const c_void,
    pub rank: i32,
    pub usable: Option<extern "C" fn() -> *const c_char>,
    pub help: *const c_char,
    pub arrays: *const c_char, // of parameters of type DLTensor *: see pd_op_about
}

unsafe impl Sync for Operation {}

impl Operation {
    /// An operation and its native implementation, which is also what the slot was made with.
    pub const fn define<F: Function>(
        signature: &'static Signature<F>,
        slot: &'static Slot<F>,
        native: F,
        place: Place,
    ) -> Operation {
        let slot = slot as *const Slot<F> as *const c_void;
        Operation::new(OP, c"native", signature, slot, native, place)
    }

    /// An operation that another module defines. The fallback is what the slot was made with.
    pub const fn import<F: Function>(
        signature: &'static Signature<F>,
        slot: &'static Slot<F>,
        fallback: F,
        place: Place,
    ) -> Operation {
        let slot = slot as *const Slot<F> as *const c_void;
        Operation::new(OP_IMPORT, c"native", signature, slot, fallback, place)
    }

    pub const fn define_scoped<F: Function>(
        signature: &'static Signature<F>,
        slot: &'static ScopedSlot<F>,
        native: F,
        place: Place,
    ) -> Operation {
        let slot = slot as *const ScopedSlot<F> as *const c_void;
        let scoped = true;
        let whole = Operation::new(OP, c"native", signature, slot, native, place);
        Operation { scoped, ..whole }
    }

    pub const fn import_scoped<F: Function>(
        signature: &'static Signature<F>,
        slot: &'static ScopedSlot<F>,
        fallback: F,
        place: Place,
    ) -> Operation {
        let slot = slot as *const ScopedSlot<F> as *const c_void;
        let scoped = true;
        let whole = Operation::new(OP_IMPORT, c"native", signature, slot, fallback, place);
        Operation { scoped, ..whole }
    }

    /// Another implementation of an operation that this module defines or imports.
    pub const fn implement<F: Function>(
        signature: &'static Signature<F>,
        name: &'static CStr,
        function: F,
        place: Place,
    ) -> Operation {
        Operation::new(IMPL, name, signature, null(), function, place)
    }

    const fn new<F: Function>(
        kind: u8,
        name: &'static CStr,
        signature: &'static Signature<F>,
        slot: *const c_void,
        function: F,
        place: Place,
    ) -> Operation {
        Operation {
            size: size_of::<Operation>() as u32,
            line: place.line,
            kind_of_value: 0,
            kind,
            scoped: false,
            reserved: [0; 5],
            name: name.as_ptr(),
            file: place.file,
            signature: signature as *const Signature<F> as *const c_void,
            slot,
            function: unsafe { transmute_copy(&function) },
            rank: 0,
            usable: None,
            help: null(),
            arrays: null(),
        }
    }

    pub const fn entry(&'static self) -> Entry {
        Entry(self as *const Operation as *const c_void)
    }
}

// ---- Finding an existing registry ----

#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: usize,
    physical_address: usize,
    file_size: u64,
    size: usize,
    align: u64,
}

/// struct dl_phdr_info
#[repr(C)]
struct Image {
    base: usize,
    path: *const c_char,
    segments: *const Segment,
    count: u16,
}

extern "C" {
    fn dl_iterate_phdr(
        visit: extern "C" fn(&Image, usize, &mut *mut Host) -> c_int,
        context: &mut *mut Host,
    ) -> c_int;
}

const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;

impl Image {
    fn segments(&self) -> &[Segment] {
        unsafe { std::slice::from_raw_parts(self.segments, self.count.into()) }
    }

    /// Notes may be of other tools, or damaged: nothing outside the segment is read.
    fn holds(&self, address: usize, size: usize) -> bool {
        self.segments().iter().any(|segment| {
            let offset = address.wrapping_sub(self.base + segment.address);
            segment.kind == PT_LOAD && offset <= segment.size && size <= segment.size - offset
        })
    }

    fn host_at(&self, descriptor: usize) -> *mut Host {
        let distance = unsafe { *(descriptor as *const i32) };
        let record = descriptor.wrapping_add_signed(distance as isize);
        if record % size_of::<usize>() != 0 || !self.holds(record, size_of::<Copy>()) {
            return null_mut();
        }
        let copy = unsafe { &*(record as *const Copy) };
        if copy.abi != 1 || (copy.size as usize) < size_of::<Copy>() {
            return null_mut();
        }
        copy.host.load(Ordering::Acquire)
    }

    /// The host that one of the notes in a segment leads to, or null.
    fn host_in(&self, segment: &Segment) -> *mut Host {
        let (start, pad) = (
            self.base + segment.address,
            if segment.align == 8 { 7 } else { 3 },
        );
        if segment.kind != PT_NOTE || start % 4 != 0 || !self.holds(start, segment.size) {
            return null_mut();
        }
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, segment.size) };
        let mut at = 0;
        while bytes.len() - at >= 12 {
            let word =
                |i| u32::from_ne_bytes(bytes[at + i..at + i + 4].try_into().unwrap()) as usize;
            let (name, size, kind) = (word(0), word(4), word(8));
            let head = (12 + name + pad) & !pad;
            if head + size > bytes.len() - at {
                break;
            }
            if kind == 2 && size >= 4 && bytes[at + 12..at + 12 + name] == *b"pd_flags\0" {
                let host = self.host_at(start + at + head);
                if !host.is_null() {
                    return host;
                }
            }
            at = (at + ((head + size + pad) & !pad)).min(bytes.len());
        }
        null_mut()
    }
}

extern "C" fn visit(image: &Image, _size: usize, found: &mut *mut Host) -> c_int {
    for segment in image.segments() {
        *found = image.host_in(segment);
        if !found.is_null() {
            return 1;
        }
    }
    0
}

pub fn enter(record: &Record) {
    let mut host = null_mut();
    if !record.state.load(Ordering::Relaxed).is_null() {
        return;
    }
    if unsafe { dl_iterate_phdr(visit, &mut host) } != 0 {
        unsafe { ((*host).module_join)(record) }
    }
}

pub fn leave(record: &Record) {
    let host = record.host.load(Ordering::Relaxed);
    if !host.is_null() {
        unsafe { ((*host).module_leave)(record) }
    }
}
