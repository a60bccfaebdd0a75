// Column-major 4x4 matrices, vectors and quaternions as plain arrays.

export const mat4 = {
  identity: () => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
  multiply: (a, b) => Array.from({ length: 16 }, (_, n) =>
    [0, 1, 2, 3].reduce((sum, k) => sum + a[k * 4 + n % 4] * b[Math.floor(n / 4) * 4 + k], 0)),
};

export const vec3 = {
  transform: (m, [x, y, z]) => [0, 1, 2].map(row => m[row] * x + m[4 + row] * y + m[8 + row] * z + m[12 + row]),
};

export const quat = {
  normalize: q => {
    const length = Math.hypot(...q) || 1;
    return q.map(x => x / length);
  },
  slerp: (a, b, t) => {
    a = quat.normalize(a);
    b = quat.normalize(b);
    let dot = a.reduce((sum, x, i) => sum + x * b[i], 0);
    if (dot < 0) [b, dot] = [b.map(x => -x), -dot];
    if (dot > 0.9999999) return quat.normalize(a.map((x, i) => x + (b[i] - x) * t));
    const angle = Math.acos(Math.min(dot, 1));
    return a.map((x, i) => (Math.sin((1 - t) * angle) * x + Math.sin(t * angle) * b[i]) / Math.sin(angle));
  },
};
