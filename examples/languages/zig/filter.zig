//! A plugin in Zig with a scoped flag, and with operations, one of which is scoped, too. It does
//! not link paddle_flags.
//!
//!     zig build-lib -dynamic -lc -fPIC -OReleaseSmall -femit-bin=libfilter.so \
//!         --dep pd_flags -Mroot=filter.zig -Mpd_flags=../../../paddle_flags/_new/templates/zig/pd_flags.zig

const pd = @import("pd_flags");

// ---- A flag that may have another value in one thread ----

var width_cell: pd.ScopedCell(i32) = .{ .value = 3 };

const definitions = [_]pd.Definition{
    .{
        .type = pd.int32,
        .name = "zig_width",
        .help = "How many neighbours count",
        .file = "filter.zig",
        .cell = &width_cell,
        .default_value = .{ .integer = 3 },
        .min = .{ .integer = 1 },
        .max = .{ .integer = 99 },
        .scoped = true,
        .scoped_cell = true,
    },
};

export fn width() c_int {
    return width_cell.get();
}

// ---- An operation whose choice may differ by thread, and another implementation of it ----

const smooth_op = pd.ScopedOp(*const fn (f64, i32) callconv(.c) f64, "zig_smooth", "double (double, int32_t)", &smoothSimply);

fn smoothSimply(x: f64, over: i32) callconv(.c) f64 {
    return x / @as(f64, @floatFromInt(over));
}

/// It rounds twice.
fn smoothFast(x: f64, over: i32) callconv(.c) f64 {
    return x * (1.0 / @as(f64, @floatFromInt(over)));
}

/// Why it can't run here, or null.
fn lacksDoubles() callconv(.c) ?[*:0]const u8 {
    return if (@sizeOf(f64) == 8) null else "its numbers are too short";
}

export fn smooth(x: f64) f64 {
    return smooth_op.get()(x, width_cell.get());
}

// ---- An operation that another module defines ----

const sharpen_op = pd.Op(*const fn ([*]f64, usize) callconv(.c) c_int, "sharpen", "int (double *, size_t)", &sharpenNothing);

fn sharpenNothing(_: [*]f64, _: usize) callconv(.c) c_int {
    return -1;
}

fn sharpenTwice(values: [*]f64, count: usize) callconv(.c) c_int {
    for (values[0..count]) |*value| value.* *= 2.0;
    return @intCast(count);
}

export fn sharpen(value: f64) f64 {
    var values = [_]f64{value};
    const count = sharpen_op.get()(&values, values.len);
    return values[0] * @as(f64, @floatFromInt(count));
}

const operations = [_]pd.Operation{
    smooth_op.define(.{ .file = "filter.zig", .help = "One of many values" }),
    smooth_op.implement("fast", &smoothFast, .{ .file = "filter.zig", .rank = 100, .usable = &lacksDoubles }),
    sharpen_op.import(.{ .file = "filter.zig" }),
    sharpen_op.implement("twice", &sharpenTwice, .{ .file = "filter.zig" }),
};

comptime {
    pd.moduleWith(&definitions, &operations);
}
