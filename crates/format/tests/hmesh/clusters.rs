//! Cluster LODs: byte layout, cuts, and the hierarchies that the writer and `verify` reject.

use super::*;

fn clustered() -> Mesh {
    sample().with_clusters()
}

#[test]
fn hierarchy_has_documented_layout() {
    let bytes = write(&clustered().parts()).unwrap();
    assert_eq!(tags(&bytes)[14..], ["CLGR", "CLST", "CLPT", "CLPG"]);
    let view = HmeshView::read(&bytes).unwrap();
    let hierarchy = view.clusters().unwrap();
    // Roots first; then the groups of source triangles, two clusters of the first submesh and one of the second.
    let groups: Vec<_> = hierarchy
        .groups()
        .iter()
        .map(|g| (g.submesh, g.depth, g.first_cluster, g.cluster_count, g.coarse_count))
        .collect();
    assert_eq!(groups, [(0, 1, 0, 1, 0), (1, 1, 1, 1, 0), (0, 0, 2, 2, 1), (1, 0, 4, 1, 1)]);
    let refined: Vec<_> = hierarchy.clusters().iter().map(|c| (c.group, c.refined)).collect();
    assert_eq!(refined, [(0, 2), (1, 3), (2, NO_GROUP), (2, NO_GROUP), (3, NO_GROUP)]);
    // A cluster: 3 indices, 3 vertices of 28 bytes, 3 bytes of a triangle and one of padding.
    let offsets: Vec<_> = hierarchy.clusters().iter().map(|c| c.offset).collect();
    assert_eq!(offsets, [0, 100, 200, 300, 400]);
    let page = ClusterPage { offset: 0, size: 512, first_group: 0, group_count: 4, pad: 0 };
    assert_eq!(hierarchy.pages().iter().collect::<Vec<_>>(), [page]);
    assert_eq!(hierarchy.pages_at(), chunk_at(&bytes, b"CLPG") as u64);
    // The third cluster is the first triangle of the mesh.
    let at = chunk_at(&bytes, b"CLPG") + 200;
    assert_eq!([u32_at(&bytes, at), u32_at(&bytes, at + 4), u32_at(&bytes, at + 8)], [0, 1, 2]);
    let vertices = chunk_at(&bytes, b"VTXS");
    assert_eq!(bytes[at + 12..at + 96], bytes[vertices..vertices + 84]);
    assert_eq!(bytes[at + 96..at + 100], [0, 1, 2, 0]);
    // Without a hierarchy, nothing changes.
    let plain = write(&sample().parts()).unwrap();
    assert!(HmeshView::read(&plain).unwrap().clusters().is_none());
    assert_eq!(tags(&plain), tags(&bytes)[..14]);
}

#[test]
fn groups_that_exceed_a_page_start_another() {
    // 1,400 triangles in 70 groups of 20 clusters: 2,000 bytes for each group.
    let quad = [[0, 1, 2], [0, 2, 3]];
    let triangles: Vec<[u32; 3]> = (0..1400).map(|i| quad[i % 2]).collect();
    let mesh = Mesh::build(&MeshSpec { submeshes: vec![(triangles, false)], ..spec() }).with_clusters();
    let mut mesh = mesh;
    let all = mesh.clusters.as_mut().unwrap();
    let leaves = all.groups[1];
    all.groups.truncate(1);
    all.groups.extend((0..70).map(|_| GroupPart { cluster_count: 20, ..leaves }));
    // Each group is replaced by a copy of the coarse cluster.
    let coarse = all.clusters[0];
    all.groups[0].cluster_count = 70;
    let copies = (0..70).map(|group| ClusterPart { refined: 1 + group, ..coarse });
    all.clusters.splice(..1, copies);
    all.vertices.splice(..0, [0, 1, 2].repeat(69));
    all.triangles.splice(..0, vec![[0, 1, 2]; 69]);
    let bytes = write(&mesh.parts()).unwrap();
    verify(&bytes).unwrap();
    let view = HmeshView::read(&bytes).unwrap();
    let hierarchy = view.clusters().unwrap();
    // 7,000 bytes of the root and 62 groups of 2,000 are 131,000 bytes.
    let pages: Vec<_> = hierarchy.pages().iter().map(|page| (page.size, page.group_count)).collect();
    assert_eq!(pages, [(131_008, 63), (16_000, 8)]);
    // With the first page only, the groups of the second are drawn coarsely.
    let near = CutView { camera: [0.0; 3], scale: 1000.0, near: 0.01, threshold: 1.0 };
    let drawn = |pages| {
        let cut: Vec<_> = hierarchy.cut_of_pages(&near, pages).map(|c| c.refined == NO_GROUP).collect();
        (cut.iter().filter(|&&is_leaf| is_leaf).count(), cut.len())
    };
    assert_eq!((drawn(0), drawn(1), drawn(2)), ((0, 0), (62 * 20, 62 * 20 + 8), (1400, 1400)));
    // A group that fits no page.
    let all = mesh.clusters.as_mut().unwrap();
    all.groups.truncate(2);
    all.groups[1].cluster_count = 1400;
    all.clusters.iter_mut().take(70).for_each(|cluster| cluster.refined = 1);
    assert!(matches!(
        write(&mesh.parts()),
        Err(Error::TooLarge { field: "size of a group", found: 140_000, .. })
    ));
}

#[test]
fn cut_depends_on_projected_error() {
    let bytes = write(&clustered().parts()).unwrap();
    let view = HmeshView::read(&bytes).unwrap();
    let hierarchy = view.clusters().unwrap();
    let radius = hierarchy.groups().get(0).unwrap().radius;
    let [x, y, z] = hierarchy.groups().get(0).unwrap().center;
    let count = |distance: f32, threshold: f32| {
        let camera = [x, y + radius + distance, z];
        hierarchy.cut(&CutView { camera, scale: 100.0, near: 0.1, threshold }).count()
    };
    // An error of 0.25 is 25 pixels at distance 1 from the sphere: at 10, it is 2.5 pixels.
    assert_eq!((count(10.0, 2.4), count(10.0, 2.6)), (3, 2));
    assert_eq!((count(24.9, 1.0), count(25.1, 1.0)), (3, 2));
    // Closer than the near plane, the error does not grow further.
    assert_eq!((count(-1.0, 249.0), count(-1.0, 251.0)), (3, 2));
}

#[test]
fn writer_rejects_invalid_hierarchies() {
    type Change = fn(&mut meshes::Clusters);
    let cases: &[(&str, Change)] = &[
        ("center", |c| c.groups[2].center[0] = f32::NAN),
        ("radius at byte", |c| c.groups[2].radius = -1.0),
        ("error at byte", |c| c.groups[2].error = -1.0),
        ("error at byte", |c| c.groups[2].error = f32::INFINITY),
        ("coarse_count", |c| c.groups[2].error = ROOT_ERROR),
        ("coarse_count", |c| c.groups[0].error = 1.0),
        ("submesh at byte", |c| c.groups[2].submesh = 2),
        ("another submesh", |c| c.groups[2].submesh = 1),
        ("clusters of all groups", |c| c.groups[2].cluster_count = 1),
        ("clusters of all groups", |c| c.groups[2].cluster_count = u32::MAX),
        ("cluster_count", |c| (c.groups[0].cluster_count, c.groups[2].cluster_count) = (0, 3)),
        ("refined at byte", |c| c.groups[0].depth = 2),
        ("refined at byte", |c| c.groups[2].depth = 1),
        ("coarse_count", |c| c.clusters[0].refined = NO_GROUP),
        ("refined", |c| c.clusters[0].refined = 4),
        ("refined", |c| c.clusters[2].refined = 2),
        ("sphere does not contain", |c| c.groups[0].radius *= 0.99),
        ("sphere does not contain", |c| c.groups[0].center[1] += 0.1),
        ("all triangles of the cluster", |c| {
            c.groups[0].radius *= 0.5;
            c.groups[2].radius *= 0.5;
        }),
        ("all triangles of the cluster", |c| c.clusters[0].bounds.radius = 0.1),
        ("radius", |c| c.clusters[0].bounds.radius = -0.1),
        ("cone_axis", |c| c.clusters[0].bounds.cone_axis[1] = f32::NAN),
        ("cone_cutoff", |c| c.clusters[0].bounds.cone_cutoff = f32::NAN),
        ("vertices of all clusters", |c| c.clusters[0].vertex_count = 2),
        ("vertex_count", |c| (c.clusters[0].vertex_count, c.clusters[1].vertex_count) = (0, 6)),
        ("triangles of all clusters", |c| c.clusters[0].triangle_count = 2),
        ("triangle_count", |c| (c.clusters[0].triangle_count, c.clusters[1].triangle_count) = (0, 2)),
        ("vertex", |c| c.vertices[0] = 5),
        ("corner at byte", |c| c.triangles[0][1] = 3),
        ("other triangles at depth 0", |c| c.triangles[2].reverse()),
        ("other triangles at depth 0", |c| c.vertices[6] = 3),
    ];
    for (i, (words, change)) in cases.iter().enumerate() {
        let mut mesh = clustered();
        change(mesh.clusters.as_mut().unwrap());
        let found = write(&mesh.parts()).unwrap_err().to_string();
        assert!(found.contains(words), "case {i}: {found:?} does not contain {words:?}");
    }
}

#[test]
fn verify_rejects_damaged_hierarchies() {
    let good = write(&clustered().parts()).unwrap();
    verify(&good).unwrap();
    let (groups, clusters, pages, data) = (
        chunk_at(&good, b"CLGR"),
        chunk_at(&good, b"CLST"),
        chunk_at(&good, b"CLPT"),
        chunk_at(&good, b"CLPG"),
    );
    for (words, at) in [
        ("page at byte", groups + 24),
        ("first_cluster", groups + 28),
        ("coarse_count", groups + 2 * 44 + 36),
        ("group at byte", clusters + 32),
        ("offset at byte", clusters + 48 + 40),
        ("offset at byte", pages),
        ("size at byte", pages + 8),
        ("first_group", pages + 12),
        ("pad at byte", pages + 20),
        ("vertex of the mesh", data + 12),
        ("padding", data + 99),
        ("padding", data + 511),
    ] {
        let mut bytes = good.clone();
        bytes[at] ^= 2;
        let found = verify(&bytes).unwrap_err().to_string();
        assert!(found.contains(words), "{found:?} does not contain {words:?}");
    }
    for tag in [b"CLGR", b"CLST", b"CLPT", b"CLPG"] {
        let mut bytes = good.clone();
        let entry = bytes[32..].chunks_exact(24).position(|entry| entry[..4] == *tag).unwrap();
        bytes[32 + 24 * entry] = b'?';
        let expected = std::str::from_utf8(tag).unwrap();
        assert!(matches!(verify(&bytes), Err(Error::Missing { chunk }) if chunk == expected), "{expected}");
    }
}

#[test]
fn info_and_dump_show_hierarchies() {
    let bytes = write(&clustered().parts()).unwrap();
    let (mut line, mut dump) = (String::new(), String::new());
    HMesh.describe(&bytes, &mut line).unwrap();
    assert!(line.ends_with(" | 5 clusters (2 at the root) in 1 page"), "{line}");
    HMesh.dump(&bytes, &mut dump).unwrap();
    assert_eq!(dump.lines().filter(|line| line.starts_with("cluster ")).count(), 5);
    assert_eq!(dump.lines().filter(|line| line.starts_with("group ")).count(), 4);
}
