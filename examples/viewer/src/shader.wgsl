// Draws a vertex as it lies in a `.hmesh`: see docs/formats/hmesh.md.

struct Material {
    base_color: vec4f,
    cutoff: vec4f,
}

@group(0) @binding(0) var<uniform> camera: mat4x4f;
@group(1) @binding(0) var<uniform> material: Material;
@group(1) @binding(1) var base_color: texture_2d<f32>;
@group(1) @binding(2) var linear: sampler;

struct Seen {
    @builtin(position) place: vec4f,
    @location(0) normal: vec3f,
    @location(1) uv: vec2f,
}

fn unpack(packed: vec2f) -> vec3f {
    let z = 1.0 - abs(packed.x) - abs(packed.y);
    let signs = select(vec2f(-1.0), vec2f(1.0), packed >= vec2f(0.0));
    let folded = (1.0 - abs(packed.yx)) * signs;
    return normalize(vec3f(select(folded, packed, z >= 0.0), z));
}

@vertex
fn vertex(@location(0) position: vec3f, @location(1) normal: vec2f, @location(2) uv: vec2f) -> Seen {
    return Seen(camera * vec4f(position, 1.0), unpack(normal), uv);
}

@fragment
fn fragment(seen: Seen, @builtin(front_facing) front: bool) -> @location(0) vec4f {
    let color = textureSample(base_color, linear, seen.uv) * material.base_color;
    if color.a < material.cutoff.x {
        discard;
    }
    let normal = normalize(seen.normal) * select(-1.0, 1.0, front);
    let sun = max(dot(normal, normalize(vec3f(0.4, 0.8, 0.5))), 0.0);
    let sky = 0.5 + 0.5 * normal.y;
    return vec4f(color.rgb * (0.25 + 0.25 * sky + 0.75 * sun), 1.0);
}
