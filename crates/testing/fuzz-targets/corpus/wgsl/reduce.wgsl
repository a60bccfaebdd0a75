enable f16;
alias Row = array<u32, 64>;
struct Cells { count: atomic<u32>, rows: array<Row>, }
@group(0) @binding(0) var<storage, read_write> cells: Cells;
@group(1) @binding(3) var output: texture_storage_2d<rgba8unorm, write>;
var<workgroup> shared_sum: array<atomic<i32>, 4 * 16>;
var<private> seed: u32 = 0x9e37u;

fn hash(p: ptr<private, u32>) -> u32 { *p = (*p ^ (*p >> 3u)) * 747796405u; return *p; }

@compute @workgroup_size(8, 8, 1)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
    let i = min(id.x, arrayLength(&cells.rows) - 1u);
    var best = cells.rows[i][local % 64u];
    loop {
        best = best >> 1u;
        atomicMax(&shared_sum[local % 64u], i32(best));
        continuing { break if best == 0u || hash(&seed) % 7u == 0u; }
    }
    workgroupBarrier();
    let old = atomicAdd(&cells.count, countOneBits(bitcast<u32>(f32(best))));
    let half = f16(old) * 0.5h;
    textureStore(output, vec2i(id.xy), vec4f(f32(half), modf(1.5).fract, 0.0, 1.0));
}
