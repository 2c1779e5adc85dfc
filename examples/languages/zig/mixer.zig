//! A plugin in Zig with two flags. It does not link paddle_flags.
//!
//!     zig build-lib -dynamic -lc -fPIC -OReleaseSmall -femit-bin=libmixer.so \
//!         --dep pd_flags -Mroot=mixer.zig -Mpd_flags=../../../paddle_flags/_new/templates/zig/pd_flags.zig

const pd = @import("pd_flags");

var gain: i32 = 5;
var device: [*:0]const u8 = "default";

const definitions = [_]pd.Definition{
    .{
        .type = pd.int32,
        .name = "zig_gain",
        .help = "How loud",
        .file = "mixer.zig",
        .cell = &gain,
        .default_value = .{ .integer = 5 },
        .min = .{ .integer = 0 },
        .max = .{ .integer = 11 },
    },
    .{
        .type = pd.string,
        .name = "zig_device",
        .help = "Where to play",
        .file = "mixer.zig",
        .cell = @ptrCast(&device),
        .default_value = .{ .text = "default" },
    },
};

comptime {
    pd.module(&definitions);
}

export fn number() c_int {
    return @atomicLoad(i32, &gain, .monotonic);
}

export fn text() [*:0]const u8 {
    return @atomicLoad([*:0]const u8, &device, .acquire);
}
