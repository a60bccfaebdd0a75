/* Opens each test case with kiln.h and prints whether it is valid and a checksum of everything read from it.
 * A case is a letter for the format, the length as four bytes, and the bytes. */
#include "kiln.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t sum;

static void fold(const void *data, size_t size) {
    const uint8_t *bytes = (const uint8_t *)data;
    size_t i;
    for (i = 0; i < size; i++) sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void number(uint64_t n) { fold(&n, sizeof n); }
static void text(kiln_text t) { number(t.size), fold(t.data, t.size); }

/* Takes the frame for the content, as far as it goes. */
static int copy_frame(void *user, kiln_bytes frame, uint8_t *out, size_t out_size) {
    *(int *)user += 1;
    memset(out, 0, out_size);
    memcpy(out, frame.data, frame.size);
    return 1;
}

static kiln_status walk_pack(const void *data, size_t size) {
    kiln_pack pack, plain;
    kiln_pack_entry entry, again;
    kiln_status status = kiln_compressed_pack_open(data, size, &pack);
    kiln_status in_place = kiln_pack_open(data, size, &plain);
    kiln_cursor cursor;
    if (in_place != (status == KILN_OK && pack.version == 3 ? KILN_VERSION : status)) {
        /* A damaged pack of version 3 is rejected by its version before its damage. */
        if (!(status != KILN_OK && in_place == KILN_VERSION && kiln_u32((const uint8_t *)data + 4) == 3)) abort();
    }
    if (status != KILN_OK) return status;
    cursor = pack.entries;
    number(pack.version), number(pack.count);
    while (kiln_pack_next(&pack, &cursor, &entry)) {
        text(entry.path), number((uint64_t)entry.kind), number(entry.bytes.size), fold(entry.bytes.data, entry.bytes.size);
        number(entry.content_size);
        if (entry.content_size < 1 << 20) {
            size_t length = (size_t)entry.content_size;
            uint8_t *content = (uint8_t *)malloc(length + 1);
            int calls = 0, is_compressed = entry.bytes.size != length;
            if (!content || kiln_pack_read(&entry, copy_frame, &calls, content, length) != KILN_OK) abort();
            if (calls != is_compressed || (entry.bytes.size && memcmp(content, entry.bytes.data, entry.bytes.size))) abort();
            if ((kiln_pack_read(&entry, NULL, NULL, content, length) == KILN_OK) == is_compressed) abort();
            if (kiln_pack_read(&entry, copy_frame, &calls, content, length + 1) == KILN_OK) abort();
            free(content);
        }
        number((uint64_t)(kiln_pack_find(&pack, entry.path, &again) && again.bytes.data == entry.bytes.data));
    }
    return status;
}

static kiln_status walk_manifest(const void *data, size_t size) {
    kiln_manifest manifest;
    kiln_asset asset, again;
    kiln_status status = kiln_manifest_open(data, size, &manifest);
    kiln_cursor cursor;
    if (status != KILN_OK) return status;
    cursor = manifest.entries;
    number(manifest.count);
    while (kiln_manifest_next(&cursor, &asset)) {
        number(asset.hash), number((uint64_t)asset.kind), number(asset.is_srgb), text(asset.path);
        number((uint64_t)kiln_manifest_find(&manifest, asset.hash, &again));
        number(kiln_hash(asset.path.data, asset.path.size));
    }
    return status;
}

static kiln_status walk_plain_mesh(const void *data, size_t size) {
    kiln_mesh mesh;
    kiln_status status = kiln_mesh_open(data, size, &mesh);
    uint32_t i, lod, count;
    if (status != KILN_OK) return status;
    fold(&mesh.desc, sizeof mesh.desc), fold(&mesh.bounds, sizeof mesh.bounds);
    for (i = 0; i < mesh.desc.vertex_count; i++) {
        const kiln_vertex *vertex = &mesh.vertices[i];
        float normal[3];
        fold(vertex, sizeof *vertex);
        kiln_octahedral(vertex->normal, normal);
        number((uint64_t)(kiln_handedness(vertex->tangent) < 0));
    }
    for (i = 0; i < mesh.desc.index_count; i++) number(kiln_mesh_index(&mesh, i));
    for (i = 0; i < mesh.desc.meshlet_count; i++)
        fold(&mesh.meshlets[i], sizeof *mesh.meshlets), fold(&mesh.meshlet_bounds[i], sizeof *mesh.meshlet_bounds);
    fold(mesh.meshlet_vertices, mesh.meshlet_vertex_count * 4);
    fold(mesh.meshlet_triangles, mesh.meshlet_triangle_count * 3);
    for (i = 0; i < mesh.desc.material_count; i++) number(mesh.materials[i]);
    for (i = 0; i < mesh.desc.submesh_count; i++) {
        fold(&mesh.submeshes[i], sizeof *mesh.submeshes);
        for (lod = 0; lod < mesh.lod_count; lod++) {
            const uint32_t *indices = kiln_mesh_lod_indices(&mesh, i, lod, &count);
            number(count), fold(indices, (size_t)count * 4);
        }
    }
    if (mesh.skin) fold(mesh.skin, mesh.desc.vertex_count * sizeof *mesh.skin);
    fold(mesh.joints, mesh.joint_count * sizeof *mesh.joints);
    fold(mesh.groups, mesh.group_count * sizeof *mesh.groups), fold(mesh.pages, mesh.page_count * sizeof *mesh.pages);
    for (i = 0; i < mesh.cluster_count; i++) {
        kiln_cluster_geometry geometry = kiln_mesh_cluster_geometry(&mesh, &mesh.clusters[i]);
        fold(geometry.indices, (size_t)mesh.clusters[i].vertex_count * 4);
        fold(geometry.vertices, mesh.clusters[i].vertex_count * sizeof *geometry.vertices);
        fold(geometry.triangles, (size_t)mesh.clusters[i].triangle_count * 3);
    }
    for (lod = 0; lod < 6; lod++) {
        static const float thresholds[3] = {0.01f, 1.0f, 100.0f};
        kiln_cut_view view = {{5.0f, 0.5f, -1.0f}, 100.0f, 0.1f, 0.0f};
        view.threshold = thresholds[lod / 2];
        for (i = 0; i < mesh.cluster_count; i++)
            if (kiln_mesh_cluster_is_drawn(&mesh, &mesh.clusters[i], &view, lod % 2 ? 1 : UINT32_MAX))
                number(mesh.clusters[i].group), number(mesh.clusters[i].offset);
    }
    number(mesh.color_stride), number(mesh.uv_set_count);
    fold(mesh.colors, (size_t)mesh.desc.vertex_count * mesh.color_stride);
    fold(mesh.uv_sets, (size_t)(mesh.uv_set_count - 1) * mesh.desc.vertex_count * 8);
    fold(mesh.morph_sets, mesh.morph_set_count * sizeof *mesh.morph_sets);
    for (i = 0; i < mesh.morph_target_count; i++) {
        const kiln_morph_target *target = &mesh.morph_targets[i];
        fold(target, sizeof *target), text(kiln_mesh_name(&mesh, target->name_offset, target->name_size));
    }
    fold(mesh.morph_deltas, mesh.morph_delta_count * sizeof *mesh.morph_deltas);
    if (mesh.morph_normals) fold(mesh.morph_normals, mesh.morph_delta_count * 12);
    if (mesh.morph_tangents) fold(mesh.morph_tangents, mesh.morph_delta_count * 12);
    for (i = 0; i < mesh.node_count; i++) {
        const kiln_mesh_node *node = &mesh.nodes[i];
        fold(node, sizeof *node), text(kiln_mesh_name(&mesh, node->name_offset, node->name_size));
    }
    /* kiln_mesh_open does not guarantee that indices are in range. */
    number((uint64_t)(kiln_mesh_check_indices(&mesh) == KILN_OK));
    return status;
}

static kiln_status walk_mesh(const void *data, size_t size) {
    uint64_t decoded;
    kiln_status status;
    void *out;
    if (!kiln_mesh_is_compressed(data, size)) return walk_plain_mesh(data, size);
    if ((status = kiln_mesh_decoded_size(data, size, &decoded)) != KILN_OK) return status;
    if (!(out = malloc((size_t)decoded))) exit(2);
    status = kiln_mesh_decode(data, size, out, (size_t)decoded);
    if (status == KILN_OK) status = walk_plain_mesh(out, (size_t)decoded);
    free(out);
    return status;
}

static kiln_status walk_materials(const void *data, size_t size) {
    kiln_materials materials;
    kiln_status status = kiln_materials_open(data, size, &materials);
    uint32_t i;
    if (status != KILN_OK) return status;
    for (i = 0; i < materials.count; i++) {
        const kiln_material *row = &materials.rows[i];
        fold(row, sizeof *row);
        number((uint64_t)kiln_material_double_sided(row)), number((uint64_t)kiln_material_alpha_mode(row));
    }
    return status;
}

static kiln_status walk_animation(const void *data, size_t size) {
    kiln_animation animation;
    kiln_clip clip;
    kiln_channel channel;
    kiln_status status = kiln_animation_open(data, size, &animation);
    kiln_cursor clips, channels;
    uint32_t i, k;
    if (status != KILN_OK) return status;
    clips = animation.clips;
    while (kiln_clip_next(&clips, &clip)) {
        text(clip.name), fold(&clip.duration, 4), number(clip.channel_count);
        channels = clip.channels;
        for (i = 0; i < clip.channel_count && kiln_channel_next(&channels, &channel); i++) {
            number(channel.joint), number((uint64_t)channel.path), number((uint64_t)channel.interp);
            for (k = 0; k < channel.key_count; k++) {
                float value[4], time = kiln_channel_key(&channel, k, value);
                fold(&time, 4), fold(value, 4 * (size_t)channel.components);
            }
        }
    }
    return status;
}

static kiln_status walk_extensions(const void *data, size_t size) {
    kiln_material_extensions table;
    kiln_status status = kiln_material_extensions_open(data, size, &table);
    uint32_t i;
    if (status != KILN_OK) return status;
    for (i = 0; i < table.count; i++) {
        const kiln_material_extension *row = &table.rows[i];
        fold(row, sizeof *row), text(kiln_text_of(table.text, row->name)), text(kiln_text_of(table.text, row->extras));
        fold(table.textures + row->first_texture, row->texture_count * sizeof *table.textures);
    }
    return status;
}

static void labels(const kiln_scene *scene, kiln_text_range name, kiln_text_range extras) {
    text(kiln_text_of(scene->text, name)), text(kiln_text_of(scene->text, extras));
}

static kiln_status walk_scene(const void *data, size_t size) {
    kiln_scene scene;
    kiln_status status = kiln_scene_open(data, size, &scene);
    uint32_t i, k, count;
    if (status != KILN_OK) return status;
    labels(&scene, scene.info.name, scene.info.extras), text(kiln_text_of(scene.text, scene.info.document_extras));
    for (i = 0; i < scene.node_count; i++) {
        const kiln_scene_node *node = &scene.nodes[i];
        const float *weights = kiln_scene_weights(&scene, node, &count);
        fold(node, sizeof *node), labels(&scene, node->name, node->extras);
        fold(weights, count * sizeof *weights);
        fold(scene.instances + node->first_instance, node->instance_count * sizeof *scene.instances);
        if (node->matrix >= 0) fold(scene.matrices[node->matrix], 64);
        if (node->camera >= 0) fold(&scene.cameras[node->camera], sizeof *scene.cameras);
        if (node->light >= 0) fold(&scene.lights[node->light], sizeof *scene.lights);
    }
    for (i = 0; i < scene.mesh_count; i++)
        fold(&scene.meshes[i], sizeof *scene.meshes), labels(&scene, scene.meshes[i].name, scene.meshes[i].extras);
    for (i = 0; i < scene.skin_count; i++) {
        const kiln_scene_skin *skin = &scene.skins[i];
        fold(skin, sizeof *skin), labels(&scene, skin->name, skin->extras);
        fold(scene.joints + skin->first_joint, skin->joint_count * sizeof *scene.joints);
    }
    for (i = 0; i < scene.camera_count; i++) labels(&scene, scene.cameras[i].name, scene.cameras[i].extras);
    for (i = 0; i < scene.light_count; i++) labels(&scene, scene.lights[i].name, scene.lights[i].extras);
    for (i = 0; i < scene.clip_count; i++) {
        const kiln_scene_clip *clip = &scene.clips[i];
        fold(clip, sizeof *clip), labels(&scene, clip->name, clip->extras);
        for (k = clip->first_channel; k < clip->first_channel + clip->channel_count; k++) {
            const kiln_scene_channel *channel = &scene.channels[k];
            fold(channel, sizeof *channel);
            fold(scene.times + channel->first_time, channel->key_count * sizeof *scene.times);
            fold(scene.values + channel->first_value, (size_t)kiln_channel_values(channel) * sizeof *scene.values);
        }
    }
    return status;
}

static kiln_status walk_font(const void *data, size_t size) {
    kiln_font font;
    kiln_status status = kiln_font_open(data, size, &font);
    uint32_t i;
    if (status != KILN_OK) return status;
    number(font.atlas_tex), number(font.flags), number(font.atlas_width), number(font.atlas_height);
    fold(&font.ascent, 4), fold(&font.descent, 4), fold(&font.line_gap, 4);
    fold(&font.distance_range, 4), fold(&font.edge_value, 4);
    for (i = 0; i < font.glyph_count; i++) {
        const kiln_glyph *glyph = &font.glyphs[i];
        fold(glyph, sizeof *glyph);
        number(kiln_font_glyph(&font, glyph->codepoint)->codepoint);
        number(kiln_font_glyph(&font, glyph->codepoint + 1)->codepoint);
    }
    for (i = 0; i < font.pair_count; i++) {
        const kiln_pair *pair = &font.pairs[i];
        float advance = kiln_font_kerning(&font, pair->left, pair->right);
        fold(pair, sizeof *pair), fold(&advance, 4);
    }
    return status;
}

static kiln_status walk_texture(const void *data, size_t size) {
    kiln_texture texture;
    kiln_level level;
    kiln_status status = kiln_texture_open(data, size, &texture);
    uint32_t i, side;
    if (status != KILN_OK) return status;
    number(kiln_texture_block(texture.vk_format, &side)), number(side);
    number(texture.vk_format), number(texture.width), number(texture.height), number(texture.depth);
    number(texture.layer_count), number(texture.face_count), number((uint64_t)texture.supercompression);
    number(texture.is_srgb);
    for (i = 0; kiln_texture_level(&texture, i, &level); i++) {
        number(level.width), number(level.height), number(level.depth), number(level.unpacked_size);
        fold(level.bytes.data, level.bytes.size);
    }
    return status;
}

int main(int argc, char **argv) {
    FILE *cases = argc == 2 ? fopen(argv[1], "rb") : NULL;
    int format;
    if (!cases) return 2;
    while ((format = fgetc(cases)) != EOF) {
        kiln_status status = KILN_OK;
        uint32_t size;
        void *data;
        if (fread(&size, 4, 1, cases) != 1) return 2;
        /* Exactly the size of the file, so that a sanitizer detects reads past its end. */
        data = malloc(size ? size : 1);
        if (!data || (size && fread(data, size, 1, cases) != 1)) return 2;
        sum = UINT64_C(0xcbf29ce484222325);
        switch (format) {
        case 'P': status = walk_pack(data, size); break;
        case 'N': status = walk_manifest(data, size); break;
        case 'M': status = walk_mesh(data, size); break;
        case 'R': status = walk_materials(data, size); break;
        case 'A': status = walk_animation(data, size); break;
        case 'X': status = walk_extensions(data, size); break;
        case 'S': status = walk_scene(data, size); break;
        case 'F': status = walk_font(data, size); break;
        case 'T': status = walk_texture(data, size); break;
        default: return 2;
        }
        if (status == KILN_OK) printf("%016llx\n", (unsigned long long)sum);
        else printf("%s\n", kiln_status_text(status));
        free(data);
    }
    return fclose(cases) == 0 ? 0 : 2;
}
