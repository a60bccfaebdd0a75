//! Checks of the tables of a cluster hierarchy: pages, groups and clusters. They run on every read, so that ranges can
//! be followed and a cut can be selected; the time is linear in the number of clusters.

use core::mem::offset_of;

use super::super::records::*;
use super::super::view::HmeshView;
use super::*;
use crate::Error;
use crate::error::{below, equal, finite};

const CHUNKS: [ChunkId; 4] =
    [ChunkId::ClusterGroups, ChunkId::Clusters, ChunkId::ClusterPageTable, ChunkId::ClusterPages];

/// Checks the hierarchy of a mesh, if there is one: all tables are consistent, the groups are ordered by their error,
/// and each cluster refines to a group further down, whose error and sphere are not greater.
pub(in crate::hmesh) fn check_clusters(view: &HmeshView<'_>) -> Result<(), Error> {
    if CHUNKS.iter().all(|&id| !view.has(id)) {
        return Ok(());
    }
    for (id, each) in [
        (ChunkId::ClusterGroups, ClusterGroup::SIZE),
        (ChunkId::Clusters, Cluster::SIZE),
        (ChunkId::ClusterPageTable, ClusterPage::SIZE),
        (ChunkId::ClusterPages, 1),
    ] {
        if !view.has(id) {
            return Err(Error::Missing { chunk: id.name() });
        }
        let len = view.payload(id).len();
        view.must_be(id, (len - len % each) as u64)?;
    }
    let Some(hierarchy) = view.clusters() else { return Ok(()) };
    check_pages(view, &hierarchy)?;
    check_groups(view, &hierarchy)?;
    check_links(view, &hierarchy)
}

fn check_pages(view: &HmeshView<'_>, hierarchy: &ClusterHierarchy<'_>) -> Result<(), Error> {
    let (mut end, mut groups) = (0u64, 0u64);
    for (i, page) in hierarchy.pages().iter().enumerate() {
        let at = |offset: usize| view.at(ChunkId::ClusterPageTable) + (i * ClusterPage::SIZE + offset) as u64;
        equal(at(offset_of!(ClusterPage, offset)), "offset", page.offset, end)?;
        let found = page.size.into();
        if !(1..=MAX_PAGE_SIZE).contains(&page.size) || page.size % PAGE_ALIGNMENT != 0 {
            let expected = "a multiple of 16 up to 131072";
            return Err(Error::Value {
                at: at(offset_of!(ClusterPage, size)),
                field: "size",
                found,
                expected,
            });
        }
        equal(at(offset_of!(ClusterPage, first_group)), "first_group", page.first_group, groups)?;
        if page.group_count == 0 {
            let at = at(offset_of!(ClusterPage, group_count));
            return Err(Error::Value { at, field: "group_count", found: 0, expected: "at least 1" });
        }
        equal(at(offset_of!(ClusterPage, pad)), "pad", page.pad, 0u32)?;
        end += u64::from(page.size);
        groups += u64::from(page.group_count);
    }
    view.must_be(ChunkId::ClusterPages, end)?;
    view.must_be(ChunkId::ClusterGroups, groups.saturating_mul(ClusterGroup::SIZE as u64))
}

/// Checks each group, and that its clusters follow one another in the table and in the page.
fn check_groups(view: &HmeshView<'_>, hierarchy: &ClusterHierarchy<'_>) -> Result<(), Error> {
    let desc = view.desc();
    let (mut page, mut cluster_count, mut offset) = (0u32, 0u64, 0u64);
    let mut previous = ROOT_ERROR;
    for (i, group) in hierarchy.groups().iter().enumerate() {
        let at = |offset: usize| view.at(ChunkId::ClusterGroups) + (i * ClusterGroup::SIZE + offset) as u64;
        let current = hierarchy.pages().get(page as usize).unwrap_or_default();
        if i as u64 == u64::from(current.first_group) + u64::from(current.group_count) {
            check_page_end(view, page, current, offset)?;
            (page, offset) = (page + 1, 0);
        }
        finite(at(offset_of!(ClusterGroup, center)), "center", &group.center)?;
        for (field, value, offset) in [
            ("radius", group.radius, offset_of!(ClusterGroup, radius)),
            ("error", group.error, offset_of!(ClusterGroup, error)),
        ] {
            finite(at(offset), field, &[value])?;
            if value < 0.0 {
                return Err(Error::Fault { at: at(offset), field, why: "is negative" });
            }
        }
        if group.error > previous {
            let why = "is greater than that of the group before";
            return Err(Error::Fault { at: at(offset_of!(ClusterGroup, error)), field: "error", why });
        }
        previous = group.error;
        if (group.error == ROOT_ERROR) != (group.coarse_count == 0) {
            let why = "is 0 unless coarser clusters replace the group";
            let at = at(offset_of!(ClusterGroup, coarse_count));
            return Err(Error::Fault { at, field: "coarse_count", why });
        }
        below(at(offset_of!(ClusterGroup, submesh)), "submesh", group.submesh, desc.submesh_count)?;
        equal(at(offset_of!(ClusterGroup, page)), "page", group.page, page)?;
        let first = at(offset_of!(ClusterGroup, first_cluster));
        equal(first, "first_cluster", group.first_cluster, cluster_count)?;
        let clusters = hierarchy.clusters().range(group.first_cluster, group.cluster_count);
        let Some(clusters) = clusters.filter(|clusters| !clusters.is_empty()) else {
            let at = at(offset_of!(ClusterGroup, cluster_count));
            let (found, expected) = (group.cluster_count.into(), "at least 1, and within CLST");
            return Err(Error::Value { at, field: "cluster_count", found, expected });
        };
        for (number, cluster) in (cluster_count..).zip(clusters) {
            let at = |offset: usize| cluster_at(view, number, offset);
            equal(at(offset_of!(Cluster, group)), "group", cluster.group, i as u64)?;
            equal(at(offset_of!(Cluster, offset)), "offset", cluster.offset, offset)?;
            let counts = [
                (
                    offset_of!(Cluster, vertex_count),
                    "vertex_count",
                    cluster.vertex_count,
                    desc.meshlet_max_verts,
                ),
                (
                    offset_of!(Cluster, triangle_count),
                    "triangle_count",
                    cluster.triangle_count,
                    desc.meshlet_max_tris,
                ),
            ];
            for (offset, field, count, most) in counts {
                if count == 0 {
                    return Err(Error::Value { at: at(offset), field, found: 0, expected: "at least 1" });
                }
                below(at(offset), field, count, u64::from(most) + 1)?;
            }
            offset += u64::from(cluster.size());
        }
        cluster_count += u64::from(group.cluster_count);
    }
    let last = hierarchy.pages().get(page as usize).unwrap_or_default();
    check_page_end(view, page, last, offset)?;
    view.must_be(ChunkId::Clusters, cluster_count * Cluster::SIZE as u64)
}

fn check_page_end(view: &HmeshView<'_>, number: u32, page: ClusterPage, end: u64) -> Result<(), Error> {
    let offset = number as usize * ClusterPage::SIZE + offset_of!(ClusterPage, size);
    let at = view.at(ChunkId::ClusterPageTable) + offset as u64;
    equal(at, "size", page.size, end.next_multiple_of(PAGE_ALIGNMENT.into()))
}

/// Checks the group that each cluster refines to.
fn check_links(view: &HmeshView<'_>, hierarchy: &ClusterHierarchy<'_>) -> Result<(), Error> {
    let groups = hierarchy.groups();
    for (number, cluster) in (0u64..).zip(hierarchy.clusters()) {
        let at = cluster_at(view, number, offset_of!(Cluster, refined));
        let group = groups.get(cluster.group as usize).unwrap_or_default();
        if (cluster.refined == NO_GROUP) != (group.depth == 0) {
            let why = "is a group at depth 0, or none above";
            return Err(Error::Fault { at, field: "refined", why });
        }
        if cluster.refined == NO_GROUP {
            continue;
        }
        below(at, "refined", cluster.refined, groups.len() as u64)?;
        let refined = groups.get(cluster.refined as usize).unwrap_or_default();
        let fault = |why| Err(Error::Fault { at, field: "refined", why });
        if cluster.refined <= cluster.group || refined.depth.checked_add(1) != Some(group.depth) {
            return fault("is not a group of the depth below");
        }
        if refined.submesh != group.submesh {
            return fault("is a group of another submesh");
        }
        if !contains(&group, &refined) {
            return fault("is a group that the sphere does not contain");
        }
    }
    Ok(())
}

/// Returns whether the sphere of one group contains that of another.
fn contains(outer: &ClusterGroup, inner: &ClusterGroup) -> bool {
    let room = f64::from(outer.radius) - f64::from(inner.radius);
    let apart = |axis: usize| f64::from(outer.center[axis]) - f64::from(inner.center[axis]);
    room >= 0.0 && apart(0) * apart(0) + apart(1) * apart(1) + apart(2) * apart(2) <= room * room
}

/// Returns the byte offset of a field of a cluster.
pub(in crate::hmesh) fn cluster_at(view: &HmeshView<'_>, number: u64, offset: usize) -> u64 {
    view.at(ChunkId::Clusters) + number * Cluster::SIZE as u64 + offset as u64
}
