//! What a module has in its image so that the registry finds its flags, as
//! docs/reference/abi.md defines it, for 64-bit ELF systems.
#![allow(dead_code)] // a module may use part of it

use std::ffi::{c_char, c_int, c_void, CStr};
use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

pub const INT32: u8 = 2;
pub const STRING: u8 = 7;

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
        }
    }
}

/// pd_module_record. The host writes the last two.
#[repr(C)]
pub struct Record {
    pub abi: u32,
    pub size: u32,
    pub defs: *const &'static Definition,
    pub defs_end: *const &'static Definition,
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

/// Use it once in a module, with all of its definitions.
#[macro_export]
macro_rules! module {
    ($($definition:ident),*) => {
        static LIST: &[&$crate::pd_flags::Definition] = &[$(&$definition),*];

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
            ".long 9, 4, 1",
            ".asciz \"pd_flags\"",
            ".balign 4",
            ".long {record} - .",
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
            if kind == 2 && size == 4 && bytes[at + 12..at + 12 + name] == *b"pd_flags\0" {
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
