#![allow(clippy::all, clippy::print_stdout, missing_docs)]
use kiln_mesh::{process::*, *};
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e6
}
struct M {
    n: String,
    p: Vec<[f32; 3]>,
    i: Vec<u32>,
    nr: Option<Vec<[f32; 3]>>,
    uv: Option<Vec<[f32; 2]>>,
    tn: Option<Vec<[f32; 4]>>,
}
fn load(path: &std::path::Path) -> M {
    let d = std::fs::read(path).unwrap();
    let u = |k: usize| u32::from_le_bytes(d[k * 4..k * 4 + 4].try_into().unwrap());
    let f = |k: usize| f32::from_bits(u(k));
    let (nv, ni) = (u(0) as usize, u(1) as usize);
    let mut o = 5;
    let p = (0..nv).map(|v| std::array::from_fn(|a| f(o + v * 3 + a))).collect();
    o += nv * 3;
    let i = (0..ni).map(|k| u(o + k)).collect();
    o += ni;
    let nr = (u(2) == 1).then(|| {
        let r = (0..nv).map(|v| std::array::from_fn(|a| f(o + v * 3 + a))).collect();
        o += nv * 3;
        r
    });
    let uv = (u(3) == 1).then(|| {
        let r = (0..nv).map(|v| std::array::from_fn(|a| f(o + v * 2 + a))).collect();
        o += nv * 2;
        r
    });
    let tn = (u(4) == 1).then(|| {
        let r = (0..nv).map(|v| std::array::from_fn(|a| f(o + v * 4 + a))).collect();
        o += nv * 4;
        r
    });
    M { n: path.file_stem().unwrap().to_string_lossy().into(), p, i, nr, uv, tn }
}
fn sphere() -> M {
    let (seg, rings) = (1024u32, 512u32);
    let (mut pos, mut uv, mut idx) = (vec![], vec![], vec![]);
    for r in 0..=rings {
        for s in 0..=seg {
            let (u, v) = (s as f64 / seg as f64, r as f64 / rings as f64);
            let (a, d) = ((s % seg) as f64 / seg as f64 * std::f64::consts::TAU, v * std::f64::consts::PI);
            let w = if r == rings { 0.0 } else { d.sin() };
            pos.push([(a.cos() * w) as f32, d.cos() as f32, (a.sin() * w) as f32]);
            uv.push([u as f32, v as f32]);
        }
    }
    for r in 0..rings {
        for s in 0..seg {
            let a = r * (seg + 1) + s;
            let b = a + seg + 1;
            idx.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    M { n: "sphere1m".into(), nr: Some(pos.clone()), p: pos, i: idx, uv: Some(uv), tn: None }
}
fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
    let mut all:Vec<M>=std::fs::read_dir("/tmp/meshdump").unwrap().flatten().map(|e| load(&e.path())).filter(|m| m.i.len()>3000).collect(); all.sort_by(|a,b| a.n.cmp(&b.n)); all.push(sphere());
    // foliage-like soup
    { let mut p=vec![]; let mut s=1u64; let mut r=||{s=s.wrapping_mul(6364136223846793005).wrapping_add(1); (s>>40) as f32/(1u64<<24) as f32}; for _ in 0..100000 { let c=[r()*10.,r()*10.,r()*10.]; for _ in 0..3 { p.push([c[0]+r()*0.1,c[1]+r()*0.1,c[2]+r()*0.1]); } } let i=(0..p.len() as u32).collect(); all.push(M{n:"leaves".into(),p,i,nr:None,uv:None,tn:None}); }
    if std::env::args().nth(1).as_deref()==Some("lod") { for m in &all { if m.nr.is_none() {continue}
        let out=process(&Input{indices:&m.i,positions:&m.p,normals:m.nr.as_deref(),uvs:m.uv.as_deref(),tangents:m.tn.as_deref(),..Input::default()},&Settings{meshlets:false,optimize:true,..Settings::default()}).unwrap();
        let raw=process(&Input{indices:&m.i,positions:&m.p,normals:m.nr.as_deref(),uvs:m.uv.as_deref(),tangents:m.tn.as_deref(),..Input::default()},&Settings{meshlets:false,lods:vec![],..Settings::default()}).unwrap();
        let _ = raw; let n=out.vertices.len(); let a=|i:&[u32]| meshopt::analyze_vertex_cache(i,n,16,0,0).acmr; print!("{} lod0 {:.3}",m.n,a(&out.indices));
        let pos:Vec<[f32;3]>=out.vertices.iter().map(|v| v.position).collect(); let ad=meshopt::VertexDataAdapter::new(meshopt::typed_to_bytes(&pos),12,0).unwrap();
        let l=meshopt::simplify(&out.indices,&ad,out.indices.len()/2,0.05,meshopt::SimplifyOptions::None,None);
        let t=cpu(); let f=meshopt::optimize_vertex_cache_fifo(&l,n,16); let t1=cpu(); let v=meshopt::optimize_vertex_cache(&l,n); let t2=cpu();
        println!(" | lod1 raw {:.3} fifo {:.3} ({:.1} ms) full {:.3} ({:.1} ms)",a(&l),a(&f),t1-t,a(&v),t2-t1); 
        println!("   lods {:?}", out.lods.iter().map(|l| (l.indices.len() as f32/out.indices.len() as f32, l.error)).collect::<Vec<_>>());
        } return; }
    if std::env::args().nth(1).as_deref()==Some("mine") { let m=all.iter().find(|m| m.n=="sphere1m").unwrap();
        let ix=order::vertex_cache(Triangles::new(&m.i,m.p.len()).unwrap()); let mut ix=order::overdraw(Triangles::new(&ix,m.p.len()).unwrap(),&m.p); let src=order::vertex_fetch(&mut ix,m.p.len()); let p:Vec<_>=src.iter().map(|&i| m.p[i as usize]).collect();
        for _ in 0..5 { let t=cpu(); let k=meshlets::build(Triangles::new(&ix,p.len()).unwrap(),&p); println!("{:.1} {}",cpu()-t,k.meshlets.len()); } return; }
    for m in &all {
        let set=Settings{meshlets:false,lods:vec![],tangents:TangentMode::Keep,..Settings::default()};
        let out=process(&Input{indices:&m.i,positions:&m.p,normals:m.nr.as_deref(),uvs:m.uv.as_deref(),tangents:m.tn.as_deref(),..Input::default()},&set).unwrap();
        let pos:Vec<[f32;3]>=out.vertices.iter().map(|v| v.position).collect();
        let ad=meshopt::VertexDataAdapter::new(meshopt::typed_to_bytes(&pos),12,0).unwrap();
        let t=cpu(); let w=meshopt::build_meshlets(&out.indices,&ad,64,124,0.25); let b:Vec<_>=w.iter().map(|m| meshopt::compute_meshlet_bounds(m,&ad)).collect(); let t1=cpu()-t;
        let s:f64=b.iter().map(|b| (b.radius as f64).powi(2)).sum(); let c=b.iter().filter(|b| b.cone_cutoff<1.0).count();
        let t=cpu(); let k=meshlets::build(Triangles::new(&out.indices,pos.len()).unwrap(),&pos); let t2=cpu()-t;
        let s2:f64=k.bounds.iter().map(|b| (b.radius as f64).powi(2)).sum(); let c2=k.bounds.iter().filter(|b| b.cone_cutoff<1.0).count();
        let dist=|v:Vec<f64>| { let mut v=v; v.sort_by(|a,b| a.total_cmp(b)); let n=v.len(); let med=v[n/2]; let s:f64=v.iter().map(|r| r*r).sum(); let big:Vec<f64>=v.iter().copied().filter(|r| *r>2.0*med).collect(); format!("med {med:.4} p90 {:.4} max {:.3} big {} share {:.3} rest {:.4}",v[n*9/10],v[n-1],big.len(),big.iter().map(|r| r*r).sum::<f64>()/s, v.iter().filter(|r| **r<=2.0*med).map(|r| r*r).sum::<f64>()) };
        println!("   meshopt {}\n   ours    {}",dist(b.iter().map(|b| b.radius as f64).collect()),dist(k.bounds.iter().map(|b| b.radius as f64).collect()));
        println!("{:30} {:8} tris | meshopt {t1:6.1} ms {:6} sum {s:10.4} cull {:4.1}% mlvr {} | ours {t2:6.1} ms {:6} sum {s2:10.4} cull {:4.1}% mlvr {} | ratio t {:.2} n {:.3} s {:.3}",m.n,out.indices.len()/3,w.len(),c as f64/w.len() as f64*100.,w.vertices.len(),k.bounds.len(),c2 as f64/k.bounds.len() as f64*100.,k.vertices.len(),t1/t2,k.bounds.len() as f64/w.len() as f64,s2/s);
    }});
}
