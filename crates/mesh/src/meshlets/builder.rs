//! Greedy meshlet clustering: the builder behind [`crate::meshlets`].
//!
//! A cluster grows by one triangle at a time along its vertices: first triangles that need no new vertex,
//! then those that would be left isolated, then the rest; ties are decided by a small bounding sphere and a
//! narrow normal cone. (The rules are those of meshoptimizer.) The candidates are kept in a list that is
//! updated with each step instead of being searched again, which makes the builder fast. A cluster without
//! neighbours continues with the nearest triangle in space; a full one is followed by the neighbour of an
//! earlier cluster with the fewest remaining neighbours, so that few holes are left.
//!
//! Kiln's own code instead of `meshopt::build_meshlets`, because it takes two thirds of the CPU time for
//! smaller bounding spheres: 22 ms instead of 34 ms for a sphere of 65,536 triangles, 413 ms instead of 622
//! ms for 1,048,576, bounds included (one thread; `own_code` in `bench/mesh`; the spheres are compared in
//! `docs/internals/performance.md`).

use super::candidates::{Candidates, DONE, FREE, Facet};
use super::kd_tree::KdTree;
use crate::vector::{Vec3, dot, square_distance, unit};

/// The meshlet limits and weights.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) vertices: usize,
    pub(super) triangles: usize,
    /// From 0 (small bounding sphere only) to 1 (narrow normal cone only).
    pub(super) cone_weight: f32,
}

/// The triangles of each cluster, in the order they were added, and the end of each cluster in the list.
pub(super) struct Clusters {
    pub(super) triangles: Vec<u32>,
    pub(super) ends: Vec<u32>,
    /// The number of candidates that were ranked: the work that depends on the valence of vertices.
    #[cfg(test)]
    pub(super) ranked: usize,
}

/// Clusters `triangles` over `positions`; each triangle is in one cluster. Vertices should have no more than
/// a few thousand triangles.
pub(super) fn grow(triangles: &[[u32; 3]], positions: &[Vec3], limits: Limits) -> Clusters {
    let mut builder = Builder::new(triangles, positions, limits);
    builder.run();
    Clusters {
        triangles: builder.order,
        ends: builder.ends,
        #[cfg(test)]
        ranked: builder.ranked,
    }
}

/// The maximum number of seeds, and the number of seeds added per finished cluster.
const MAX_SEEDS: usize = 256;
const NEW_SEEDS: usize = 4;

/// The distance in cluster radii beyond which a jump is far.
const FAR: f32 = 4.0;

/// The number of candidates of a cluster from which on a vertex adds at most [`CROWDED_ADDS`] more. A cluster takes at
/// most 124 of them, and one with the pole of a fine sphere has about 1,100; only in a mesh where many high-valence
/// vertices meet are there thousands, and ranking them would be most of the time.
const CROWDED: usize = 1536;
const CROWDED_ADDS: u32 = 32;

/// Marks a vertex of the current cluster.
const USED: u32 = 1 << 31;

struct Builder<'a> {
    triangles: &'a [[u32; 3]],
    positions: &'a [Vec3],
    limits: Limits,
    /// Triangles of each vertex: those not yet in a cluster come first.
    around: Vec<u32>,
    offsets: Vec<u32>,
    /// The number of those triangles, with [`USED`] set if the vertex is in the current cluster.
    live: Vec<u32>,
    place: Vec<u32>,
    candidates: Candidates,
    cluster: Cluster,
    /// Neighbours of finished clusters, with their centroids.
    seeds: Vec<Seed>,
    /// The start point of the clustering: the minimum corner of the bounding box.
    corner: Vec3,
    expected_radius: f32,
    /// The number of times that a cluster ran out of neighbours.
    jumps: usize,
    remaining: Option<KdTree>,
    order: Vec<u32>,
    ends: Vec<u32>,
    #[cfg(test)]
    ranked: usize,
}

/// A triangle to start a cluster with, and its centroid.
type Seed = (u32, Vec3);

/// The number of free neighbours of a seed, and its distance from the start point.
type SeedKey = (u32, f32);

/// The current cluster.
#[derive(Default)]
struct Cluster {
    vertices: Vec<u32>,
    triangles: usize,
    /// Sums over its triangles.
    centre: Vec3,
    normal: Vec3,
}

impl Cluster {
    fn middle(&self) -> Vec3 {
        let per = 1.0 / self.triangles.max(1) as f32;
        self.centre.map(|sum| sum * per)
    }
}

impl<'a> Builder<'a> {
    fn new(triangles: &'a [[u32; 3]], positions: &'a [Vec3], limits: Limits) -> Self {
        let mut area = 0.0;
        let mut corner = [f32::MAX; 3];
        for corners in triangles {
            let (facet, size) = Facet::of(corners, positions);
            area += f64::from(size);
            for (least, at) in corner.iter_mut().zip(facet.centre) {
                *least = least.min(at);
            }
        }
        // A cluster of average triangles as a square patch has half its side as radius.
        let average = area / triangles.len().max(1) as f64 * 0.5;
        let expected_radius = ((average * limits.triangles as f64).sqrt() * 0.5) as f32;

        let mut offsets = vec![0u32; positions.len() + 1];
        for &vertex in triangles.as_flattened() {
            offsets[vertex as usize + 1] += 1;
        }
        let live = offsets[1..].to_vec();
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut fill = offsets.clone();
        let mut around = vec![0; triangles.len() * 3];
        for (triangle, corners) in triangles.iter().enumerate() {
            for &vertex in corners {
                let at = &mut fill[vertex as usize];
                around[*at as usize] = triangle as u32;
                *at += 1;
            }
        }
        Self {
            triangles,
            positions,
            limits,
            around,
            offsets,
            live,
            place: vec![FREE; triangles.len()],
            candidates: Candidates::default(),
            cluster: Cluster::default(),
            seeds: Vec::with_capacity(MAX_SEEDS),
            corner,
            expected_radius,
            jumps: 0,
            remaining: None,
            order: Vec::with_capacity(triangles.len()),
            ends: Vec::new(),
            #[cfg(test)]
            ranked: 0,
        }
    }

    /// Computed on demand: a list for all triangles would be the largest array of the builder.
    fn facet(&self, triangle: u32) -> Facet {
        Facet::of(&self.triangles[triangle as usize], self.positions).0
    }

    fn run(&mut self) {
        let distance = |triangle: u32| square_distance(self.facet(triangle).centre, self.corner);
        let all = (0..self.triangles.len() as u32).map(|triangle| (distance(triangle), triangle));
        let first = all.min_by(|a, b| a.0.total_cmp(&b.0));
        let mut next = first.map(|(_, triangle)| triangle);
        while let Some(triangle) = next {
            self.add(triangle);
            next = self.next();
        }
        if self.cluster.triangles > 0 {
            self.ends.push(self.order.len() as u32);
        }
    }

    /// Returns the next triangle, after closing the cluster if the triangle does not fit.
    fn next(&mut self) -> Option<u32> {
        let Some((best, extra)) = self.best() else { return self.jump() };
        if self.fits(extra) { Some(best) } else { Some(self.close().unwrap_or(best)) }
    }

    /// Continues where no neighbours are left: with a seed or the nearest triangle in space, in this cluster
    /// unless that is far.
    fn jump(&mut self) -> Option<u32> {
        let centre = self.cluster.middle();
        let far = (FAR * self.expected_radius) * (FAR * self.expected_radius);
        self.jumps += 1;
        // In a connected mesh, jumps are rare and lead to holes left behind anywhere: a cluster for each is
        // better than clusters as large as the mesh. In a mesh of small components every cluster has to jump,
        // and may stop at a far one only after it has grown.
        let rare = self.jumps * 64 <= self.order.len();
        let started = self.cluster.vertices.len() * 4 >= self.limits.vertices;

        self.seeds.retain(|&(seed, _)| self.place[seed as usize] != DONE);
        let apart = |&(_, seed): &Seed| square_distance(centre, seed);
        let seed = self.seeds.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        let triangle = match seed {
            Some(seed) if rare || apart(seed) <= far => seed.0,
            _ => self.nearest(centre)?,
        };
        let far = square_distance(centre, self.facet(triangle).centre) > far;
        if self.fits(self.extra(triangle)) && !(far && (rare || started)) {
            return Some(triangle);
        }
        Some(self.close().unwrap_or(triangle))
    }

    fn fits(&self, extra: u8) -> bool {
        self.cluster.triangles < self.limits.triangles
            && self.cluster.vertices.len() + usize::from(extra) <= self.limits.vertices
    }

    /// Returns the best candidate and the number of new vertices it adds.
    fn best(&self) -> Option<(u32, u8)> {
        let candidates = &self.candidates;
        let rank = candidates.rank.iter().copied().min()?;
        let centre = self.cluster.middle();
        let axis = unit(self.cluster.normal);
        let spread = (1.0 - self.limits.cone_weight) / self.expected_radius.max(f32::MIN_POSITIVE);
        let (mut best, mut lowest) = (0, f32::INFINITY);
        for (at, (&its, facet)) in candidates.rank.iter().zip(&candidates.facet).enumerate() {
            if its != rank {
                continue;
            }
            let apart = square_distance(facet.centre, centre).sqrt();
            let turned = 1.0 - dot(facet.normal, axis) * self.limits.cone_weight;
            let score = (1.0 + apart * spread) * turned.max(1e-3);
            if score < lowest {
                (best, lowest) = (at, score);
            }
        }
        Some((candidates.triangle[best], candidates.extra[best]))
    }

    /// Returns the number of corners of a triangle that are not in the cluster.
    fn extra(&self, triangle: u32) -> u8 {
        self.triangles[triangle as usize].iter().map(|&v| u8::from(self.live[v as usize] & USED == 0)).sum()
    }

    /// Returns the number of new vertices of a candidate, and its rank.
    fn rank(&self, triangle: u32) -> (u8, u8) {
        let live = self.triangles[triangle as usize].map(|vertex| self.live[vertex as usize]);
        let among = |wanted: u32| live.iter().map(|&count| u8::from(count & !USED == wanted)).sum::<u8>();
        let extra = live.iter().map(|&count| u8::from(count & USED == 0)).sum();
        let rank = if extra == 0 {
            0
        } else if among(1) > 0 {
            // The last triangle of some vertex: left behind, it would cost another cluster three vertices.
            1
        } else if among(2) >= 2 {
            // Taking it makes another triangle the last of its vertex, so that growth continues.
            1 + extra
        } else {
            2 + extra
        };
        (extra, rank)
    }

    /// Adds a triangle to the cluster and its neighbours to the candidates.
    fn add(&mut self, triangle: u32) {
        let corners = self.triangles[triangle as usize];
        self.candidates.remove(triangle, &mut self.place);
        self.place[triangle as usize] = DONE;
        let mut joined = [false; 3];
        for (vertex, joined) in corners.into_iter().zip(&mut joined) {
            let (start, live) = (self.offsets[vertex as usize] as usize, &mut self.live[vertex as usize]);
            if *live & USED == 0 {
                self.cluster.vertices.push(vertex);
                *live |= USED;
                *joined = true;
            }
            let list = &mut self.around[start..start + (*live & !USED) as usize];
            if let Some(at) = list.iter().position(|&other| other == triangle) {
                let last = list.len() - 1;
                list.swap(at, last);
                *live -= 1;
            }
        }
        for (vertex, joined) in corners.into_iter().zip(joined) {
            let (start, live) = (self.offsets[vertex as usize] as usize, self.live[vertex as usize] & !USED);
            // The triangles around a vertex that was in the cluster before are candidates already, and their
            // ranks depend only on whether it has one or two of them left. Without this a fan takes quadratic
            // time.
            if !joined && live > 2 {
                continue;
            }
            let is_crowded = self.candidates.triangle.len() >= CROWDED;
            let live = if is_crowded { live.min(CROWDED_ADDS) } else { live };
            #[cfg(test)]
            {
                self.ranked += live as usize;
            }
            for at in start..start + live as usize {
                let other = self.around[at];
                let (extra, rank) = self.rank(other);
                let facet = || Facet::of(&self.triangles[other as usize], self.positions).0;
                self.candidates.put(other, extra, rank, facet, &mut self.place);
            }
        }
        let facet = self.facet(triangle);
        for axis in 0..3 {
            self.cluster.centre[axis] += facet.centre[axis];
            self.cluster.normal[axis] += facet.normal[axis];
        }
        self.cluster.triangles += 1;
        self.order.push(triangle);
    }

    /// Closes the cluster and picks the seed of the next among the neighbours of all clusters so far.
    fn close(&mut self) -> Option<u32> {
        self.ends.push(self.order.len() as u32);
        // The one with the fewest free neighbours, then the nearest to the start point.
        let key = |&(triangle, centre): &Seed| {
            let live: u32 =
                self.triangles[triangle as usize].iter().map(|&v| self.live[v as usize] & !USED).sum();
            (live, square_distance(centre, self.corner))
        };
        let order = |a: &SeedKey, b: &SeedKey| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        self.seeds.retain(|&(seed, _)| self.place[seed as usize] != DONE);
        self.seeds.truncate(MAX_SEEDS - NEW_SEEDS);
        let mut new: [Option<(SeedKey, Seed)>; NEW_SEEDS] = [None; NEW_SEEDS];
        let candidates = self.candidates.triangle.iter().zip(&self.candidates.facet);
        for candidate in candidates.map(|(&triangle, facet)| (triangle, facet.centre)) {
            let mut entry = Some((key(&candidate), candidate));
            for slot in &mut new {
                let better = match (&entry, &*slot) {
                    (Some(entry), Some(slot)) => order(&entry.0, &slot.0).is_lt(),
                    (entry, _) => entry.is_some(),
                };
                if better {
                    std::mem::swap(&mut entry, slot);
                }
            }
        }
        self.seeds.extend(new.iter().flatten().map(|&(_, seed)| seed));
        let best = self.seeds.iter().map(|seed| (key(seed), seed.0)).min_by(|a, b| order(&a.0, &b.0));

        for vertex in self.cluster.vertices.drain(..) {
            self.live[vertex as usize] &= !USED;
        }
        self.cluster = Cluster { vertices: std::mem::take(&mut self.cluster.vertices), ..Cluster::default() };
        self.candidates.clear(&mut self.place);
        best.map(|(_, triangle)| triangle)
    }

    /// Returns the nearest triangle in space that is in no cluster.
    fn nearest(&mut self, point: Vec3) -> Option<u32> {
        if self.order.len() == self.triangles.len() {
            return None;
        }
        let left = |triangle: u32| self.place[triangle as usize] != DONE;
        let middle = |corners| Facet::of(corners, self.positions).0.centre;
        let middles = self.triangles.iter().map(middle);
        self.remaining.get_or_insert_with(|| KdTree::new(middles, left)).find(point, left)
    }
}
