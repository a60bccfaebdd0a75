// Draws a vertex as a pak has it: docs/reference/formats/pak.md. Without light, so that a pixel is a texel.

// The rotation and scale of an instance as columns, and its translation.
struct Instance {
    axes: mat3x3f,
    translation: vec3f,
}

@group(0) @binding(0) var<uniform> instance: Instance;
@group(0) @binding(1) var color: texture_2d<f32>;
@group(0) @binding(2) var nearest: sampler;

struct Seen {
    @builtin(position) place: vec4f,
    @location(0) uv: vec2f,
}

// Looks along -Z at the cube from -1 to 1.
@vertex
fn vertex(@location(0) position: vec3f, @location(1) uv: vec2f) -> Seen {
    let world = instance.axes * position + instance.translation;
    return Seen(vec4f(world.xy, 0.5 - 0.5 * world.z, 1.0), uv);
}

@fragment
fn fragment(seen: Seen) -> @location(0) vec4f {
    return textureSample(color, nearest, seen.uv);
}
