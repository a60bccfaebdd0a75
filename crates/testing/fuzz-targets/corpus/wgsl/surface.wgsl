struct Camera { view: mat4x4f, eye: vec3f, }
@group(0) @binding(0) var<uniform> camera: Camera;
@group(0) @binding(1) var colours: texture_2d<f32>;
@group(0) @binding(2) var filtered: sampler;
override quality: i32 = 1;
const lights = array<vec3f, 2>(vec3f(0.0, 1.0, 0.0), vec3f(1.0));

struct Corner {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(perspective, centroid) normal: vec3f,
    @location(1) uv: vec2f,
}

@vertex
fn corner(@location(0) position: vec3f, @location(1) normal: vec3f, @builtin(vertex_index) index: u32) -> Corner {
    let uv = vec2f(f32((index << 1u) & 2u), f32(index & 2u));
    return Corner(camera.view * vec4f(position, 1.0), normal, uv);
}

@fragment
fn shade(in: Corner) -> @location(0) vec4f {
    var sum = vec3f(0.0);
    for (var i = 0; i < quality; i++) {
        switch i % 3 {
            case 0, 1: { sum += max(dot(in.normal, lights[i & 1]), 0.0) * vec3f(0.5); }
            default: { if all(sum == vec3f(1.0)) { break; } continue; }
        }
    }
    let texel = textureSample(colours, filtered, in.uv);
    if texel.a < 0.5 { discard; }
    return vec4f(mix(sum, texel.rgb, 0.5), select(texel.a, 1.0, quality > 1));
}
