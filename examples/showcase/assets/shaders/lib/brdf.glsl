// Metallic-roughness shading after the appendix of glTF 2.0: GGX, height-correlated Smith, Schlick.
#ifndef BRDF_GLSL
#define BRDF_GLSL

const float PI = 3.14159265359;

float distribution(float n_h, float alpha) {
    float a2 = alpha * alpha;
    float d = n_h * n_h * (a2 - 1.0) + 1.0;
    return a2 / (PI * d * d);
}

float visibility(float n_l, float n_v, float alpha) {
    float a2 = alpha * alpha;
    float l = n_v * sqrt(n_l * n_l * (1.0 - a2) + a2);
    float v = n_l * sqrt(n_v * n_v * (1.0 - a2) + a2);
    return 0.5 / max(l + v, 1e-5);
}

vec3 brdf(vec3 base, float metallic, float roughness, vec3 n, vec3 v, vec3 l) {
    vec3 h = normalize(v + l);
    float n_l = max(dot(n, l), 0.0);
    float n_v = max(dot(n, v), 1e-4);
    float n_h = max(dot(n, h), 0.0);
    float v_h = max(dot(v, h), 0.0);
    float alpha = max(roughness * roughness, 1e-3);
    vec3 f0 = mix(vec3(0.04), base, metallic);
    vec3 fresnel = f0 + (1.0 - f0) * pow(1.0 - v_h, 5.0);
    vec3 diffuse = (1.0 - fresnel) * (1.0 - metallic) * base / PI;
    return (diffuse + fresnel * distribution(n_h, alpha) * visibility(n_l, n_v, alpha)) * n_l;
}

#endif
