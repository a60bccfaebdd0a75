// A sky behind everything: one triangle over the screen, and the cubemap that a ray through each pixel meets.

struct Camera {
    // From clip space to directions in the world.
    unproject: mat4x4f,
    exposure: f32,
}

@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var sky: texture_cube<f32>;
@group(0) @binding(2) var smooth_sampler: sampler;

// How far towards the horizon the haze reaches; the setting `shader.defines: haze=0.3` changes it.
override haze: f32 = 0.15;

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) direction: vec3f,
}

@vertex
fn corner(@builtin(vertex_index) index: u32) -> Corner {
    let xy = vec2f(f32((index << 1u) & 2u), f32(index & 2u)) * 2.0 - 1.0;
    // At the far plane of a reversed depth.
    let clip = vec4f(xy, 0.0, 1.0);
    return Corner(clip, (camera.unproject * vec4f(xy, 1.0, 1.0)).xyz);
}

@fragment
fn shade(in: Corner) -> @location(0) vec4f {
    let direction = normalize(in.direction);
    let colour = textureSample(sky, smooth_sampler, direction).rgb * camera.exposure;
    let near = 1.0 - smoothstep(0.0, haze, abs(direction.y));
    return vec4f(mix(colour, vec3f(0.62, 0.55, 0.5) * camera.exposure, near * 0.5), 1.0);
}
