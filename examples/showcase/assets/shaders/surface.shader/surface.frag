#version 460
#include "../lib/frame.glsl"
#include "../lib/brdf.glsl"

layout(set = 1, binding = 0) uniform sampler2D base_colour;
layout(set = 1, binding = 1) uniform sampler2D normal_map;
layout(set = 1, binding = 2) uniform sampler2D roughness_map;

layout(location = 0) in vec3 world;
layout(location = 1) in vec3 world_normal;
layout(location = 2) in vec4 world_tangent;
layout(location = 3) in vec2 uv;

layout(location = 0) out vec4 colour;

// Set by the pipeline: whether texels below this alpha are holes.
layout(constant_id = 0) const float ALPHA_CUTOFF = 0.0;

void main() {
    vec4 base = texture(base_colour, uv);
    if (base.a < ALPHA_CUTOFF) {
        discard;
    }
    // z is what is left of length 1.
    vec2 xy = texture(normal_map, uv).rg * 2.0 - 1.0;
    vec3 bump = vec3(xy, sqrt(max(1.0 - dot(xy, xy), 0.0)));
    vec3 n = normalize(world_normal);
    vec3 t = normalize(world_tangent.xyz - n * dot(n, world_tangent.xyz));
    n = normalize(mat3(t, cross(n, t) * world_tangent.w, n) * bump);
    vec3 v = normalize(frame.eye.xyz - world);
    float roughness = texture(roughness_map, uv).r;
    vec3 lit = brdf(base.rgb, 0.0, roughness, n, v, frame.sun.xyz) * frame.sun_colour.rgb;
    colour = vec4(lit + base.rgb * 0.03, base.a);
}
