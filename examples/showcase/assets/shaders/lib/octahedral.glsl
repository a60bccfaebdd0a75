// Unit vectors as .hmesh packs them: see docs/formats/hmesh.md.
#ifndef OCTAHEDRAL_GLSL
#define OCTAHEDRAL_GLSL

vec3 octahedral(vec2 e) {
    vec3 v = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    float fold = max(-v.z, 0.0);
    v.x -= v.x >= 0.0 ? fold : -fold;
    v.y -= v.y >= 0.0 ? fold : -fold;
    return normalize(v);
}

// The lowest bit of the first number tells the handedness; it is too small to matter in the direction.
vec4 octahedral_tangent(ivec2 packed) {
    float handedness = (packed.x & 1) == 0 ? 1.0 : -1.0;
    return vec4(octahedral(clamp(vec2(packed) / 32767.0, -1.0, 1.0)), handedness);
}

#endif
