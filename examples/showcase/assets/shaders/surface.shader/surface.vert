#version 460
#include "../lib/frame.glsl"
#include "../lib/octahedral.glsl"

// The vertex of .hmesh, field by field.
layout(location = 0) in vec3 position;
layout(location = 1) in vec2 normal;   // R16G16_SNORM
layout(location = 2) in ivec2 tangent; // R16G16_SINT
layout(location = 3) in vec2 uv;

layout(push_constant) uniform Draw {
    mat4 model;
} draw;

layout(location = 0) out vec3 world;
layout(location = 1) out vec3 world_normal;
layout(location = 2) out vec4 world_tangent;
layout(location = 3) out vec2 uv_out;

void main() {
    mat3 turn = mat3(draw.model);
    vec4 along = octahedral_tangent(tangent);
    vec4 at = draw.model * vec4(position, 1.0);
    world = at.xyz;
    world_normal = turn * octahedral(normal);
    world_tangent = vec4(turn * along.xyz, along.w);
    uv_out = uv;
    gl_Position = frame.view_projection * at;
}
