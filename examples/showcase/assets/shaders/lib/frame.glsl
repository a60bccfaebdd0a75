// What every draw of a frame shares.
#ifndef FRAME_GLSL
#define FRAME_GLSL

layout(set = 0, binding = 0, std140) uniform Frame {
    mat4 view_projection;
    vec4 eye;        // xyz: where it is
    vec4 sun;        // xyz: towards it
    vec4 sun_colour; // linear
} frame;

#endif
