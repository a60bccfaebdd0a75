//! glTF and OBJ models with huge counts, deep nesting and cycles.

use super::{Bomb, build};

fn gltf(extra: &str) -> Vec<u8> {
    format!("{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[0]}}],{extra}}}")
        .into_bytes()
}

const ONE_MESH: &str =
    "\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}]";

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    let counts: [(&str, &str); 14] = [
        ("2^62", "4611686018427387904"),
        ("2^53", "9007199254740992"),
        ("2^32", "4294967296"),
        ("2^31", "2147483648"),
        ("10^300", "1e300"),
        ("minus one", "-1"),
        ("2^64", "18446744073709551616"),
        ("a thousand digits", ""),
        ("2^30", "1073741824"),
        ("2^62 in a buffer view", ""),
        ("2^62 in a buffer", ""),
        ("2^62 as a stride", ""),
        ("2^62 in a sparse accessor", ""),
        ("2^62 as an offset", ""),
    ];
    let big = "4611686018427387904";
    for (what, count) in counts {
        let digits = "9".repeat(1000);
        let (mut count, mut view, mut buffer, mut stride, mut offset, mut sparse) =
            (count.to_owned(), "68", "68", "12", "0", String::new());
        match what {
            "a thousand digits" => count = digits,
            "2^62 in a buffer view" => (count, view) = ("3".into(), big),
            "2^62 in a buffer" => (count, buffer) = ("3".into(), big),
            "2^62 as a stride" => (count, stride) = ("3".into(), big),
            "2^62 as an offset" => (count, offset) = ("3".into(), big),
            "2^62 in a sparse accessor" => {
                count = "3".into();
                sparse = format!(
                    ",\"sparse\":{{\"count\":{big},\"indices\":{{\"bufferView\":0,\"componentType\":5125}},\"values\":{{\"bufferView\":0}}}}"
                );
            }
            _ => {}
        }
        all.push(build(&format!("glTF with a count of {what}"), "x.gltf", move || {
            gltf(&format!("{ONE_MESH},\"accessors\":[{{\"bufferView\":0,\"byteOffset\":{offset},\"componentType\":5126,\"type\":\"VEC3\",\"count\":{count}{sparse}}}],\"bufferViews\":[{{\"buffer\":0,\"byteLength\":{view},\"byteStride\":{stride}}}],\"buffers\":[{{\"byteLength\":{buffer},\"uri\":\"data:;base64,{}\"}}]", "A".repeat(92)))
        }));
    }
    all.push(build("glTF of 2^30 vertices without a buffer view", "x.gltf", || {
        gltf(&format!(
            "{ONE_MESH},\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":1073741824}}]"
        ))
    }));
    all.push(build("glTF of 2^26 vertices without a buffer view", "x.gltf", || {
        gltf(&format!(
            "{ONE_MESH},\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":67108864}}]"
        ))
    }));
    for (what, open, close) in [("lists", "[", "]"), ("objects", "{\"a\":", "}")] {
        all.push(build(&format!("glTF of 200,000 nested {what}"), "x.gltf", move || {
            gltf(&format!("{ONE_MESH},\"extras\":{}1{}", open.repeat(200_000), close.repeat(200_000)))
        }));
    }
    all.push(build("glTF of ten million brackets", "x.gltf", || b"[".repeat(10 << 20)));
    all.push(build("glTF with ten million values", "x.gltf", || {
        gltf(&format!("\"extras\":[{}0]", "0,".repeat(10_000_000)))
    }));
    all.push(build("glTF with a chain of 200,000 nodes", "x.gltf", || {
        let nodes: Vec<String> = (0..200_000).map(|n| format!("{{\"children\":[{}]}}", n + 1)).collect();
        gltf(&format!("\"nodes\":[{},{{}}]", nodes.join(",")))
    }));
    all.push(build("glTF with 2^60 paths through its nodes", "x.gltf", || {
        let nodes: Vec<String> = (0..60).map(|n| format!("{{\"children\":[{0},{0}]}}", n + 1)).collect();
        gltf(&format!("\"nodes\":[{},{{\"mesh\":0}}],\"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}}}}]}}],\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":3}}]", nodes.join(",")))
    }));
    all.push(build("glTF whose node is its own child", "x.gltf", || gltf("\"nodes\":[{\"children\":[0]}]")));
    all.push(build("glTF with 100,000 instances of a mesh", "x.gltf", || {
        let nodes = vec!["{\"mesh\":0}"; 100_000].join(",");
        let roots: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
        format!("{{\"asset\":{{\"version\":\"2.0\"}},\"scene\":0,\"scenes\":[{{\"nodes\":[{}]}}],\"nodes\":[{nodes}],\"meshes\":[{{\"primitives\":[{{\"attributes\":{{\"POSITION\":0}}}}]}}],\"accessors\":[{{\"componentType\":5126,\"type\":\"VEC3\",\"count\":3000000}}]}}", roots.join(",")).into_bytes()
    }));
    all.push(build("glTF with meshopt compression and a count of 2^62", "x.gltf", move || {
        gltf(&format!("{ONE_MESH},\"accessors\":[{{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":3}}],\"bufferViews\":[{{\"buffer\":0,\"byteLength\":36,\"extensions\":{{\"EXT_meshopt_compression\":{{\"buffer\":0,\"byteLength\":16,\"byteStride\":12,\"count\":{big},\"mode\":\"ATTRIBUTES\"}}}}}}],\"buffers\":[{{\"byteLength\":36,\"uri\":\"data:;base64,{}\"}}],\"extensionsRequired\":[\"EXT_meshopt_compression\"],\"extensionsUsed\":[\"EXT_meshopt_compression\"]", "A".repeat(48)))
    }));
    all.push(build("GLB with a declared length of 4 GB", "x.glb", || {
        b"glTF\x02\0\0\0\xff\xff\xff\xff\xff\xff\xff\xffJSON{}".to_vec()
    }));
    all.push(build("OBJ with an index of 2^62", "x.obj", || {
        b"v 0 0 0\nf 4611686018427387904 1 1\n".to_vec()
    }));
    all.push(build("OBJ with an index of minus 2^62", "x.obj", || {
        b"v 0 0 0\nf -4611686018427387904 1 1\n".to_vec()
    }));
    let mut long = build("OBJ of one line of 20 MB", "x.obj", || {
        [b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n#".to_vec(), b"x".repeat(20 << 20)].concat()
    });
    long.rejected = false;
    all.push(long);
    let mut fan = build("OBJ with a face of 100,000 corners", "x.obj", || {
        [b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf".to_vec(), b" 1 2 3".repeat(33_333)].concat()
    });
    fan.rejected = false;
    all.push(fan);
}
