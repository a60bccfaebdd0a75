"""Writes every model here twice, as FBX and as glTF, to `/tmp/kiln-fbx`, with Blender 4.5: `pip install bpy==4.5.15`."""

import math
import os

import bpy

# A folder whose name may stand in the files.
HERE = "/tmp/kiln-fbx"


def empty_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = 24
    return scene


def linked(name, data, parent=None):
    thing = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(thing)
    thing.parent = parent
    return thing


def material(name, colour, roughness, metallic, alpha=1.0, picture=None):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    nodes, links = made.node_tree.nodes, made.node_tree.links
    shader = nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*colour, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Metallic"].default_value = metallic
    shader.inputs["Alpha"].default_value = alpha
    if alpha < 1.0:
        made.surface_render_method = "BLENDED"
    if picture:
        texture = nodes.new("ShaderNodeTexImage")
        texture.image = picture
        links.new(texture.outputs["Color"], shader.inputs["Base Color"])
    return made


def save(name, scene, **fbx):
    bpy.context.view_layer.update()
    bpy.ops.export_scene.fbx(
        filepath=os.path.join(HERE, name + ".fbx"),
        embed_textures=True,
        path_mode="COPY",
        add_leaf_bones=False,
        bake_anim_use_nla_strips=False,
        bake_anim_use_all_actions=False,
        bake_anim_simplify_factor=0.0,
        bake_anim_step=1.0,
        use_custom_props=False,
        **fbx,
    )
    bpy.ops.export_scene.gltf(
        filepath=os.path.join(HERE, name + ".glb"),
        export_format="GLB",
        export_yup=True,
        export_animation_mode="SCENE",
        export_anim_scene_split_object=False,
        export_force_sampling=True,
        export_optimize_animation_size=False,
        export_extras=False,
    )


def shapes():
    """An L-shaped prism of two six-cornered faces and six quadrilaterals, drawn three times."""
    scene = empty_scene()
    picture = bpy.data.images.new("paint", 4, 4)
    picture.pixels = [v for i in range(16) for v in (i % 4 / 3.0, i // 4 / 3.0, 0.25, 1.0)]
    path = os.path.join(HERE, "paint.png")
    picture.filepath_raw, picture.file_format = path, "PNG"
    picture.save()
    picture.pack()

    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 3), (0, 3)]
    corners = [(x, y, z) for z in (0.0, 0.5) for x, y in outline]
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    faces = [[5, 4, 3, 2, 1, 0], [6, 7, 8, 9, 10, 11], *sides]
    mesh = bpy.data.meshes.new("prism")
    mesh.from_pydata(corners, [], faces)
    mesh.materials.append(material("painted", (0.8, 0.8, 0.8), 0.25, 0.0, picture=picture))
    mesh.materials.append(material("glass", (0.1, 0.4, 0.9), 0.5, 1.0, alpha=0.5))
    uvs = mesh.uv_layers.new(name="chart")
    for face in mesh.polygons:
        face.material_index = 0 if face.index < 2 else 1
        for loop in face.loop_indices:
            x, y, z = mesh.vertices[mesh.loops[loop].vertex_index].co
            uvs.data[loop].uv = (x / 4 + z / 8, y / 4)
    mesh.update()

    group = linked("group", None)
    group.location, group.rotation_euler, group.scale = (1, 2, 3), (0.1, 0.2, math.radians(30)), (2, 2, 2)
    first = linked("first", mesh, group)
    first.location, first.rotation_euler = (0.5, 0, 0), (0, 0, math.radians(90))
    second = linked("second", mesh)
    second.location, second.rotation_euler, second.scale = (0, 0, 5), (0.3, -0.4, 0.5), (1, 2, 0.5)
    mirrored = linked("mirrored", mesh)
    mirrored.location, mirrored.scale = (-4, 0, 0), (-1, 1, 1)
    save("shapes", scene, bake_anim=False)
    os.remove(path)


def rig():
    """A tube on two bones, of which both move."""
    scene = empty_scene()
    bones = bpy.data.armatures.new("bones")
    skeleton = linked("skeleton", bones)
    skeleton.location, skeleton.rotation_euler = (0.5, 0, 0), (0, 0, math.radians(20))
    bpy.context.view_layer.objects.active = skeleton
    bpy.ops.object.mode_set(mode="EDIT")
    lower = bones.edit_bones.new("lower")
    lower.head, lower.tail = (0, 0, 0), (0, 0, 1)
    upper = bones.edit_bones.new("upper")
    upper.head, upper.tail, upper.parent = (0, 0, 1), (0, 0, 2), lower
    bpy.ops.object.mode_set(mode="OBJECT")

    square = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)]
    corners = [(x, y, z) for z in (0.0, 0.5, 1.0, 1.5, 2.0) for x, y in square]
    faces = [[4 * r + i, 4 * r + (i + 1) % 4, 4 * r + 4 + (i + 1) % 4, 4 * r + 4 + i] for r in range(4) for i in range(4)]
    mesh = bpy.data.meshes.new("tube")
    mesh.from_pydata(corners, [], faces)
    mesh.materials.append(material("skin", (0.6, 0.3, 0.2), 0.75, 0.0))
    tube = linked("tube", mesh, skeleton)
    tube.modifiers.new("armature", "ARMATURE").object = skeleton
    groups = [tube.vertex_groups.new(name=name) for name in ("lower", "upper")]
    for vertex in mesh.vertices:
        share = min(1.0, max(0.0, vertex.co.z - 0.5))
        groups[0].add([vertex.index], 1.0 - share, "REPLACE")
        groups[1].add([vertex.index], share, "REPLACE")

    scene.frame_start, scene.frame_end = 1, 25
    lower, upper = (skeleton.pose.bones[name] for name in ("lower", "upper"))
    for bone in (lower, upper):
        bone.rotation_mode = "XYZ"
    for frame, lift, bend in ((1, 0.0, 0.0), (13, 0.25, 1.2), (25, 0.0, -0.6)):
        lower.location, upper.rotation_euler = (0, lift, 0), (bend, 0, bend / 2)
        lower.keyframe_insert("location", frame=frame)
        upper.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(1)
    save("rig", scene, bake_anim=True)


shapes()
rig()
