#version 460
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_basic : require

// The sum of the logarithms of an image's luminance, for an exposure that follows the scene.
layout(local_size_x = 16, local_size_y = 16) in;

layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1, std430) buffer Sum {
    int log_luminance; // in 1/256 of a stop
    uint texels;
} sum;

void main() {
    ivec2 size = textureSize(image, 0);
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    bool inside = all(lessThan(at, size));
    vec3 colour = inside ? texelFetch(image, at, 0).rgb : vec3(1.0);
    float luminance = max(dot(colour, vec3(0.2126, 0.7152, 0.0722)), 1e-5);
    int stops = subgroupAdd(inside ? int(round(log2(luminance) * 256.0)) : 0);
    uint count = subgroupAdd(inside ? 1u : 0u);
    if (subgroupElect()) {
        atomicAdd(sum.log_luminance, stops);
        atomicAdd(sum.texels, count);
    }
}
