//! What a module has in its image so that the registry finds its flags, as
//! docs/reference/abi.md defines it, for 64-bit ELF systems.

pub const int32 = 2;
pub const string = 7;

pub const Value = extern union { integer: i64, text: [*:0]const u8 };

/// pd_flag_def
pub const Definition = extern struct {
    size: u32 = @sizeOf(Definition),
    line: u32 = 0,
    type: u8,
    kind: u8 = 0,
    hidden: bool = false,
    read_only: bool = false,
    startup_only: bool = false,
    reserved: [3]u8 = .{ 0, 0, 0 },
    name: [*:0]const u8,
    help: [*:0]const u8,
    file: [*:0]const u8,
    choices: ?[*:0]const u8 = null,
    category: ?[*:0]const u8 = null,
    aliases: ?[*:0]const u8 = null,
    module: ?[*:0]const u8 = null,
    cell: *anyopaque,
    default_value: Value,
    min: Value = .{ .integer = 0 },
    max: Value = .{ .integer = 0 },
};

/// pd_module_record. The host writes the last two.
const Record = extern struct {
    abi: u32 = 1,
    size: u32 = @sizeOf(Record),
    defs: [*]const *const Definition,
    defs_end: [*]const *const Definition,
    host: ?*const Host = null,
    state: ?*anyopaque = null,
};

/// pd_host
const Host = extern struct {
    abi: u32,
    size: u32,
    module_join: *const fn (*Record) callconv(.c) void,
    module_leave: *const fn (*Record) callconv(.c) void,
};

/// pd_copy_record
const Copy = extern struct {
    abi: u32,
    size: u32,
    host: ?*const Host,
    version: ?[*:0]const u8,
    candidate: u32,
};

/// Use it once in a module, with all of its definitions.
pub fn module(comptime definitions: []const Definition) void {
    const Module = struct {
        const list = pointers: {
            var each: [definitions.len]*const Definition = undefined;
            for (&each, definitions) |*pointer, *definition| pointer.* = definition;
            break :pointers each;
        };
        var record: Record = .{ .defs = &list, .defs_end = @as([*]const *const Definition, &list) + list.len };

        fn enter() callconv(.c) void {
            if (record.state != null) return;
            var host: ?*const Host = null;
            _ = dl_iterate_phdr(visit, &host);
            if (host) |found| found.module_join(&record);
        }

        fn leave() callconv(.c) void {
            if (record.host) |host| host.module_leave(&record);
        }

        const enters: *const fn () callconv(.c) void = &enter;
        const leaves: *const fn () callconv(.c) void = &leave;
    };
    @export(&Module.record, .{ .name = "pd__zig_record", .visibility = .hidden });
    @export(&Module.enters, .{ .name = "pd__zig_enter", .visibility = .hidden, .section = ".init_array.00099" });
    @export(&Module.leaves, .{ .name = "pd__zig_leave", .visibility = .hidden, .section = ".fini_array.00099" });
}

// The note that leads to the record.
comptime {
    asm (
        \\.pushsection .note.pd_flags,"a",%note
        \\.balign 4
        \\.long 9, 4, 1
        \\.asciz "pd_flags"
        \\.balign 4
        \\.long pd__zig_record - .
        \\.popsection
    );
}

// ---- Finding an existing registry ----

const pt_load = 1;
const pt_note = 4;

const Segment = extern struct {
    type: u32,
    flags: u32,
    offset: u64,
    address: usize,
    physical_address: usize,
    file_size: u64,
    size: usize,
    alignment: u64,
};

/// struct dl_phdr_info
const Image = extern struct {
    base: usize,
    path: ?[*:0]const u8,
    segments: [*]const Segment,
    count: u16,

    /// Notes may be of other tools, or damaged: nothing outside the segment is read.
    fn holds(image: *const Image, address: usize, size: usize) bool {
        for (image.segments[0..image.count]) |segment| {
            const offset = address -% (image.base +% segment.address);
            if (segment.type == pt_load and offset <= segment.size and
                size <= segment.size - offset) return true;
        }
        return false;
    }

    fn hostAt(image: *const Image, descriptor: usize) ?*const Host {
        const distance = @as(*const i32, @ptrFromInt(descriptor)).*;
        const record = descriptor +% @as(usize, @bitCast(@as(isize, distance)));
        if (record % @alignOf(Copy) != 0 or !image.holds(record, @sizeOf(Copy))) return null;
        const copy = @as(*const Copy, @ptrFromInt(record));
        if (copy.abi != 1 or copy.size < @sizeOf(Copy)) return null;
        return @atomicLoad(?*const Host, &copy.host, .acquire);
    }

    /// The host that one of the notes in a segment leads to.
    fn hostIn(image: *const Image, segment: Segment) ?*const Host {
        const start = image.base + segment.address;
        const pad: usize = if (segment.alignment == 8) 7 else 3;
        if (segment.type != pt_note or start % 4 != 0) return null;
        if (!image.holds(start, segment.size)) return null;
        const bytes = @as([*]const u8, @ptrFromInt(start))[0..segment.size];
        var at: usize = 0;
        while (bytes.len - at >= 12) {
            const words = @as(*const [3]u32, @ptrFromInt(start + at));
            const head = (12 + @as(usize, words[0]) + pad) & ~pad;
            if (head + words[1] > bytes.len - at) break;
            const name = bytes[at + 12 ..][0..words[0]];
            if (words[2] == 2 and words[1] == 4 and equal(name, "pd_flags\x00")) {
                if (image.hostAt(start + at + head)) |host| return host;
            }
            at = @min(bytes.len, at + ((head + words[1] + pad) & ~pad));
        }
        return null;
    }
};

fn equal(a: []const u8, b: []const u8) bool {
    if (a.len != b.len) return false;
    for (a, b) |x, y| if (x != y) return false;
    return true;
}

extern fn dl_iterate_phdr(
    visit: *const fn (*const Image, usize, *?*const Host) callconv(.c) c_int,
    context: *?*const Host,
) c_int;

fn visit(image: *const Image, _: usize, host: *?*const Host) callconv(.c) c_int {
    for (image.segments[0..image.count]) |segment| {
        host.* = image.hostIn(segment);
        if (host.* != null) return 1;
    }
    return 0;
}
