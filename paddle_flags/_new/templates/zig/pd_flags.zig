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
    functions: [4]?*const anyopaque = .{ null, null, null, null }, // validate, watch, context and access
    marks: [4]bool = .{ false, false, false, false }, // assignable, required, optional and multi
    scoped: bool = false, // true with scoped_cell: `cell` is a ScopedCell
    changes: [5]bool = .{ false, false, false, false, false }, // runtime, unsafe, per_process, count and merge
    reserved_too: [5]u8 = .{ 0, 0, 0, 0, 0 },
    scoped_cell: bool = false,
    texts: [5]?[*:0]const u8 = .{ null, null, null, null, null }, // unit, deprecated, retired, old_names and metavar
    convert: ?*const anyopaque = null,
};

/// pd_module_record. The host writes the last two.
const Record = extern struct {
    abi: u32 = 1,
    size: u32 = @sizeOf(Record),
    defs: [*]const *const anyopaque,
    defs_end: [*]const *const anyopaque,
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
    moduleWith(definitions, &.{});
}

/// The same, with operations.
pub fn moduleWith(comptime definitions: []const Definition, comptime operations: []const Operation) void {
    const Module = struct {
        const list = pointers: {
            var each: [definitions.len + operations.len]*const anyopaque = undefined;
            for (each[0..definitions.len], definitions) |*pointer, *definition| pointer.* = definition;
            for (each[definitions.len..], operations) |*pointer, *operation| pointer.* = operation;
            break :pointers each;
        };
        var record: Record = .{ .defs = &list, .defs_end = @as([*]const *const anyopaque, &list) + list.len };

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
        \\.long 9, 8, 1
        \\.asciz "pd_flags"
        \\.balign 4
        \\.long pd__zig_record - .
        \\.hidden __ehdr_start
        \\.weak __ehdr_start
        \\.long __ehdr_start - .
        \\.popsection
    );
}

// ---- Flags that may have another value in one thread ----

/// pd_scoped_cell. The host writes all of it.
pub fn ScopedCell(comptime T: type) type {
    return extern struct {
        value: T align(64),
        find: ?*const fn (*const anyopaque) callconv(.c) *const T = null,
        flag: ?*anyopaque = null, // for pd_scope_push; null until the module has joined

        /// The value in this thread.
        pub fn get(cell: *const @This()) T {
            const find = @atomicLoad(@TypeOf(cell.find), &cell.find, .monotonic);
            const value: *const T = if (find) |function| function(cell) else &cell.value;
            return @atomicLoad(T, value, .acquire);
        }
    };
}

// ---- Operations ----

/// pd_op_signature
const Signature = extern struct { name: [*:0]const u8, text: [*:0]const u8, types: [24]u8 };

/// pd_op_def
pub const Operation = extern struct {
    size: u32 = @sizeOf(Operation),
    line: u32,
    type: u8 = 0,
    kind: u8,
    scoped: bool,
    reserved: [5]u8 = .{ 0, 0, 0, 0, 0 },
    name: [*:0]const u8,
    file: [*:0]const u8,
    signature: *const Signature,
    slot: ?*const anyopaque,
    function: *const anyopaque,
    rank: i32,
    usable: ?*const fn () callconv(.c) ?[*:0]const u8,
    help: ?[*:0]const u8,
    arrays: ?[*:0]const u8,
};

pub const Choice = struct {
    file: [*:0]const u8, // of the definition
    line: u32 = 0,
    help: ?[*:0]const u8 = null,
    rank: i32 = 0,
    usable: ?*const fn () callconv(.c) ?[*:0]const u8 = null, // null, or why it can't run here
    arrays: ?[*:0]const u8 = null, // of parameters of type DLTensor *: see pd_op_about
};

/// The operation `name` of functions of type F, such as *const fn (f64) callconv(.c) f64. `text` is
/// the signature as C writes it: it is shown, and it names structs. `own` is the native
/// implementation, or what runs while nobody implements an import.
pub fn Op(comptime F: type, comptime name: [:0]const u8, comptime text: [:0]const u8, comptime own: F) type {
    return struct {
        var slot: F align(64) = own;
        const Records = RecordsOf(F, name, text, own, false, &slot);
        pub const define = Records.define;
        pub const import = Records.import;
        pub const implement = Records.implement;

        /// The implementation that is chosen.
        pub fn get() F {
            return @atomicLoad(F, &slot, .acquire);
        }
    };
}

/// The same for an operation whose choice may differ by thread.
pub fn ScopedOp(comptime F: type, comptime name: [:0]const u8, comptime text: [:0]const u8, comptime own: F) type {
    return struct {
        /// pd_scoped_slot
        const Slot = extern struct {
            function: F align(64),
            find: ?*const fn (*const anyopaque) callconv(.c) F = null,
            op: ?*anyopaque = null,
        };
        var slot: Slot = .{ .function = own };
        const Records = RecordsOf(F, name, text, own, true, &slot);
        pub const define = Records.define;
        pub const import = Records.import;
        pub const implement = Records.implement;

        /// The implementation that is chosen in this thread.
        pub fn get() F {
            const find = @atomicLoad(@TypeOf(slot.find), &slot.find, .acquire);
            return if (find) |function| function(&slot) else @atomicLoad(F, &slot.function, .acquire);
        }
    };
}

fn RecordsOf(comptime F: type, comptime name: [:0]const u8, comptime text: [:0]const u8, comptime own: F, comptime scoped: bool, comptime slot: anytype) type {
    return struct {
        const signature: Signature = .{ .name = name, .text = text, .types = typesOf(F) };

        pub fn define(comptime choice: Choice) Operation {
            return record(2, "native", own, @ptrCast(slot), choice);
        }

        pub fn import(comptime choice: Choice) Operation {
            return record(3, "native", own, @ptrCast(slot), choice);
        }

        pub fn implement(comptime candidate: [:0]const u8, comptime function: F, comptime choice: Choice) Operation {
            return record(4, candidate, function, null, choice);
        }

        fn record(kind: u8, candidate: [:0]const u8, function: F, own_slot: ?*const anyopaque, choice: Choice) Operation {
            return .{
                .line = choice.line,
                .kind = kind,
                .scoped = scoped and own_slot != null,
                .name = candidate,
                .file = choice.file,
                .signature = &signature,
                .slot = own_slot,
                .function = function,
                .rank = choice.rank,
                .usable = choice.usable,
                .help = choice.help,
                .arrays = choice.arrays,
            };
        }
    };
}

/// The codes of a type of functions: the result, the parameters, 0.
pub fn typesOf(comptime F: type) [24]u8 {
    const function = @typeInfo(@typeInfo(F).pointer.child).@"fn";
    const old = @hasField(@TypeOf(function), "params"); // before Zig 0.17
    const params = if (old) function.params else function.param_types;
    if (params.len > 16) @compileError("an operation has at most 16 parameters");
    var types: [24]u8 = @splat(0);
    types[0] = codeOf(function.return_type.?);
    types[1] = codeOf(void);
    for (params, types[1..][0..params.len]) |param, *code| code.* = codeOf(if (old) param.type.? else param.?);
    return types;
}

fn codeOf(comptime T: type) u8 {
    return switch (@typeInfo(T)) {
        .optional => |optional| codeOf(optional.child),
        .pointer => |pointer| pointeeCode(pointer.child) + @as(u8, if (isConst(pointer)) 64 else 32),
        .@"struct", .@"union" => @compileError("an operation takes pointers to structs: " ++ @typeName(T)),
        else => pointeeCode(T),
    };
}

fn isConst(comptime pointer: anytype) bool {
    return if (@hasField(@TypeOf(pointer), "is_const")) pointer.is_const else pointer.attrs.@"const";
}

fn pointeeCode(comptime T: type) u8 {
    if (T == c_char) return 3;
    return switch (@typeInfo(T)) {
        .void => 1,
        .bool => 2,
        .int => |int| switch (int.bits) {
            8, 16, 32, 64 => 2 * @ctz(int.bits) - 2 + @intFromBool(int.signedness == .unsigned),
            else => @compileError("an integer of an operation has 8, 16, 32 or 64 bits: " ++ @typeName(T)),
        },
        .float => |float| if (float.bits == 32) 12 else if (float.bits == 64) 13 else @compileError("no type of an operation: " ++ @typeName(T)),
        .@"opaque" => if (T == anyopaque) 1 else 14,
        .@"struct", .@"union" => 14,
        else => @compileError("no type of an operation: " ++ @typeName(T)),
    };
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
            if (words[2] == 2 and words[1] >= 4 and equal(name, "pd_flags\x00")) {
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
