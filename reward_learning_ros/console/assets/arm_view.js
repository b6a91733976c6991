// The arm in 3D. Python tells what changed; this draws it when something did, and tells Python
// what the mouse does to the arm.
import { OrbitControls, THREE } from "nicegui-scene";

// How often the mouse is told while it holds the arm, also when it rests: who falls silent lets go.
const TELL_MS = 50;
// The arm turns to a new angle in this time, so that twenty updates a second look smooth.
const TURN_MS = 60;
const METRES_PER_NEWTON = 0.006;
const KEY_REACH_M = 0.12;
const COLORS = {
  plan: 0x2563eb,
  previous: 0x94a3b8,
  ideal: 0x16a34a,
  arrow: 0xdc2626,
  force: 0xd97706,
  link: 0xe8ecf1,
  joint: 0x334155,
  hand: 0xcbd5e1,
  held: 0xfbbf24,
};
const KEYS = {
  ArrowLeft: [0, 1, 0],
  ArrowRight: [0, -1, 0],
  ArrowUp: [1, 0, 0],
  ArrowDown: [-1, 0, 0],
  PageUp: [0, 0, 1],
  PageDown: [0, 0, -1],
};

export default {
  template: `
    <div class="rl-arm">
      <canvas tabindex="0" aria-label="The arm. Drag a link with the mouse to pull it; or hold an arrow key, Page Up or Page Down to pull the hand."></canvas>
      <div class="rl-arm-hint" role="status"></div>
    </div>`,
  props: { arm: Object, pullable: Boolean },

  mounted() {
    this.isPullable = this.pullable;
    this.canvas = this.$el.children[0];
    this.hint = this.$el.children[1];
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(40, 1, 0.05, 30);
    this.camera.up.set(0, 0, 1);
    this.camera.position.set(1.75, -1.35, 1.05);
    try {
      this.renderer = new THREE.WebGLRenderer({ antialias: true, alpha: true, canvas: this.canvas });
    } catch {
      this.hint.textContent = "This browser draws no 3D; everything else works.";
      this.$emit("ready");
      return;
    }
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.target.set(0.3, 0, 0.4);
    this.controls.minDistance = 0.5;
    this.controls.maxDistance = 6;
    this.controls.addEventListener("change", () => this.draw());
    this.controls.update();
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x94a3b8, 2.4));
    const sun = new THREE.DirectionalLight(0xffffff, 1.6);
    sun.position.set(1.5, -2, 4);
    this.scene.add(sun);
    const grid = new THREE.GridHelper(3, 15, 0xb6c2d1, 0xdde4ec);
    grid.rotateX(Math.PI / 2);
    this.scene.add(grid);
    this.paths = {};
    this.objects = new THREE.Group();
    this.arrows = new THREE.Group();
    this.forces = new THREE.Group();
    this.scene.add(this.objects, this.arrows, this.forces);
    this.buildArm();
    this.wanted = [...this.arm.home];
    this.angles = [...this.arm.home];
    this.turnedAt = 0;
    this.applyAngles();
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.$el);
    this.resize();
    // For those who drive the page by program: where to take the hand, and what is drawn.
    this.$el.toolOnScreen = () => this.toolOnScreen();
    this.$el.pathShown = (name) => this.paths[name]?.userData.points ?? [];
    this.$el.arrowsShown = () => this.arrows.children.length;
    this.$emit("ready");
  },

  beforeUnmount() {
    this.release();
    this.observer?.disconnect();
    this.stopListening?.();
    this.renderer?.dispose();
  },

  methods: {
    show(what, value, name) {
      if (!this.renderer) return;
      if (what === "joints") this.turnTo(value);
      else if (what === "path") this.showPath(name, value);
      else if (what === "objects") this.showObjects(value);
      else if (what === "arrows") this.showArrows(value);
      else if (what === "force") this.showForce(value);
      else if (what === "pullable") {
        this.isPullable = value;
        if (!value) this.release();
      }
      this.draw();
    },

    buildArm() {
      this.pivots = [];
      this.frames = {};
      this.meshes = [];
      const white = new THREE.MeshStandardMaterial({ color: COLORS.link, roughness: 0.55 });
      const dark = new THREE.MeshStandardMaterial({ color: COLORS.joint, roughness: 0.6 });
      const grey = new THREE.MeshStandardMaterial({ color: COLORS.hand, roughness: 0.5 });
      const base = new THREE.Group();
      for (const shape of this.arm.base) base.add(this.meshOf(shape, white));
      const foot = new THREE.Mesh(new THREE.CylinderGeometry(0.085, 0.1, 0.05, 32), dark);
      foot.rotateX(Math.PI / 2);
      foot.position.z = 0.025;
      base.add(foot);
      const trunk = new THREE.Mesh(new THREE.CylinderGeometry(0.062, 0.075, 0.14, 32), white);
      trunk.rotateX(Math.PI / 2);
      trunk.position.z = 0.11;
      base.add(trunk);
      this.scene.add(base);
      let parent = base;
      for (const link of this.arm.links) {
        const frame = new THREE.Group();
        frame.matrixAutoUpdate = false;
        frame.matrix.fromArray(link.origin);
        parent.add(frame);
        const pivot = new THREE.Group();
        frame.add(pivot);
        if (link.turns) this.pivots.push(pivot);
        this.frames[link.frame] = pivot;
        const material = link.turns ? white : grey;
        for (const shape of link.shapes) {
          const mesh = this.meshOf(shape, material.clone());
          mesh.userData.frame = link.frame;
          this.meshes.push(mesh);
          pivot.add(mesh);
        }
        if (link.turns) {
          // A dark ring where the joint turns: the arm reads as an arm.
          const ring = new THREE.Mesh(new THREE.CylinderGeometry(0.057, 0.057, 0.07, 32), dark);
          ring.rotateX(Math.PI / 2);
          pivot.add(ring);
        }
        parent = pivot;
      }
      this.toolFrame = this.arm.links[this.arm.links.length - 1].frame;
      const tip = new THREE.Mesh(new THREE.SphereGeometry(0.012, 16, 12), dark);
      parent.add(tip);
      // Larger than the hand, and not seen: a finger on a phone hits it too.
      const halo = new THREE.Mesh(
        new THREE.SphereGeometry(0.085, 16, 12),
        new THREE.MeshBasicMaterial({ color: COLORS.held, transparent: true, opacity: 0.0, depthWrite: false }),
      );
      halo.userData.frame = this.toolFrame;
      this.halo = halo;
      this.meshes.push(halo);
      parent.add(halo);
    },

    meshOf(shape, material) {
      if (shape.size) {
        const box = new THREE.Mesh(new THREE.BoxGeometry(...shape.size), material);
        box.position.set(...shape.centre);
        return box;
      }
      const start = new THREE.Vector3(...shape.start);
      const end = new THREE.Vector3(...shape.end);
      const along = end.clone().sub(start);
      const mesh = new THREE.Mesh(
        new THREE.CapsuleGeometry(shape.radius, Math.max(along.length(), 1e-4), 8, 24),
        material,
      );
      mesh.position.copy(start).add(end).multiplyScalar(0.5);
      if (along.length() > 1e-6)
        mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.normalize());
      return mesh;
    },

    turnTo(angles) {
      this.from = [...this.angles];
      this.wanted = angles;
      this.turnedAt = performance.now();
      this.draw();
    },

    applyAngles() {
      this.pivots.forEach((pivot, index) => (pivot.rotation.z = this.angles[index]));
      this.scene.updateMatrixWorld(true);
    },

    showPath(name, points) {
      const old = this.paths[name];
      if (old) {
        this.scene.remove(old);
        old.traverse((each) => each.geometry?.dispose());
      }
      const group = new THREE.Group();
      group.userData.points = points;
      if (points.length > 1) {
        const places = points.map((point) => new THREE.Vector3(...point));
        const curve = new THREE.CatmullRomCurve3(places, false, "centripetal");
        const width = name === "plan" ? 0.006 : 0.0035;
        const material = new THREE.MeshBasicMaterial({
          color: COLORS[name],
          transparent: name !== "plan",
          opacity: name === "plan" ? 1 : 0.8,
        });
        group.add(new THREE.Mesh(new THREE.TubeGeometry(curve, 20 * points.length, width, 8), material));
        const dot = new THREE.SphereGeometry(2 * width, 12, 8);
        for (const place of places) {
          const mesh = new THREE.Mesh(dot, material);
          mesh.position.copy(place);
          group.add(mesh);
        }
      }
      this.paths[name] = group;
      this.scene.add(group);
    },

    showObjects(objects) {
      this.clear(this.objects);
      for (const each of objects) {
        const geometry = {
          box: () => new THREE.BoxGeometry(1, 1, 1),
          sphere: () => new THREE.SphereGeometry(0.5, 24, 16),
          // A cylinder of ROS stands along z, one of three.js along y.
          cylinder: () => new THREE.CylinderGeometry(0.5, 0.5, 1, 32).rotateX(Math.PI / 2),
        }[each.shape]();
        const [red, green, blue, opacity] = each.color;
        const material = new THREE.MeshStandardMaterial({
          color: new THREE.Color().setRGB(red, green, blue, THREE.SRGBColorSpace),
          transparent: opacity < 1,
          opacity,
          roughness: 0.8,
        });
        const mesh = new THREE.Mesh(geometry, material);
        mesh.position.set(...each.position);
        mesh.quaternion.set(...each.quaternion);
        mesh.scale.set(...each.size);
        this.objects.add(mesh);
      }
    },

    showArrows(arrows) {
      this.clear(this.arrows);
      for (const [x, y, z, u, v, w] of arrows)
        this.addArrow(this.arrows, new THREE.Vector3(x, y, z), new THREE.Vector3(u - x, v - y, w - z), COLORS.arrow);
    },

    showForce(force) {
      this.clear(this.forces);
      if (!force) return;
      const hand = new THREE.Vector3(...force.hand);
      this.addArrow(
        this.forces,
        hand,
        new THREE.Vector3(...force.force).multiplyScalar(METRES_PER_NEWTON),
        COLORS.force,
      );
      if (force.target) {
        const ends = [hand, new THREE.Vector3(...force.target)];
        const line = new THREE.Line(
          new THREE.BufferGeometry().setFromPoints(ends),
          new THREE.LineDashedMaterial({ color: COLORS.force, dashSize: 0.015, gapSize: 0.01 }),
        );
        line.computeLineDistances();
        this.forces.add(line);
        const ball = new THREE.Mesh(
          new THREE.SphereGeometry(0.014, 16, 12),
          new THREE.MeshBasicMaterial({ color: COLORS.force }),
        );
        ball.position.copy(ends[1]);
        this.forces.add(ball);
      }
    },

    addArrow(group, start, vector, color) {
      const length = vector.length();
      if (length < 0.004) return;
      const head = Math.min(0.03, 0.4 * length);
      group.add(
        new THREE.ArrowHelper(vector.clone().normalize(), start, length, color, head, 0.7 * head),
      );
    },

    clear(group) {
      for (const child of [...group.children]) {
        group.remove(child);
        child.traverse((each) => {
          each.geometry?.dispose();
          each.material?.dispose();
        });
      }
    },

    // One frame when something changed, and more only while the arm turns.
    draw() {
      if (this.isDue || !this.renderer) return;
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        const share = this.from ? Math.min((performance.now() - this.turnedAt) / TURN_MS, 1) : 1;
        this.angles = this.wanted.map((wanted, index) =>
          this.from ? this.from[index] + share * (wanted - this.from[index]) : wanted,
        );
        this.applyAngles();
        this.renderer.render(this.scene, this.camera);
        if (share < 1) this.draw();
      });
    },

    resize() {
      const { clientWidth: width, clientHeight: height } = this.$el;
      if (!width || !height) return;
      this.camera.aspect = width / height;
      // A narrow window sees the whole arm from farther away.
      this.camera.fov = width < height ? 55 : 40;
      this.camera.updateProjectionMatrix();
      this.renderer.setSize(width, height, false);
      this.draw();
    },

    listen() {
      const on = (target, type, handler) => {
        target.addEventListener(type, handler);
        removers.push(() => target.removeEventListener(type, handler));
      };
      const removers = [];
      this.stopListening = () => removers.forEach((remove) => remove());
      // Before the controls of the camera see it.
      const down = (event) => this.pointerDown(event);
      this.canvas.addEventListener("pointerdown", down, true);
      removers.push(() => this.canvas.removeEventListener("pointerdown", down, true));
      on(this.canvas, "pointermove", (event) => this.pointerMove(event));
      on(this.canvas, "pointerup", () => this.release());
      on(this.canvas, "pointercancel", () => this.release());
      on(this.canvas, "lostpointercapture", () => this.release());
      on(window, "blur", () => this.release());
      on(document, "visibilitychange", () => document.hidden && this.release());
      on(this.canvas, "keydown", (event) => this.keyDown(event));
      on(this.canvas, "keyup", () => this.release());
      on(this.canvas, "blur", () => this.release());
    },

    toolOnScreen() {
      const box = this.canvas.getBoundingClientRect();
      const place = this.frames[this.toolFrame].getWorldPosition(new THREE.Vector3());
      place.project(this.camera);
      return [
        box.left + (box.width * (place.x + 1)) / 2,
        box.top + (box.height * (1 - place.y)) / 2,
      ];
    },

    rayOf(event) {
      const box = this.canvas.getBoundingClientRect();
      const ray = new THREE.Raycaster();
      ray.setFromCamera(
        new THREE.Vector2(
          (2 * (event.clientX - box.left)) / box.width - 1,
          1 - (2 * (event.clientY - box.top)) / box.height,
        ),
        this.camera,
      );
      return ray;
    },

    hitOf(event) {
      const hits = this.rayOf(event).intersectObjects(this.meshes, false);
      // The halo gives way to what is seen.
      return hits.find((hit) => hit.object !== this.halo) || hits[0];
    },

    pointerDown(event) {
      if (!this.isPullable || event.button !== 0) return;
      const hit = this.hitOf(event);
      if (!hit) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      this.canvas.focus();
      this.canvas.setPointerCapture(event.pointerId);
      const frame = hit.object.userData.frame;
      const point = hit.object === this.halo ? this.frames[frame].getWorldPosition(new THREE.Vector3()) : hit.point;
      this.plane = new THREE.Plane().setFromNormalAndCoplanarPoint(
        this.camera.getWorldDirection(new THREE.Vector3()),
        point,
      );
      this.grab(frame, point);
    },

    pointerMove(event) {
      if (!this.held) {
        const canPull = this.isPullable && event.buttons === 0 && this.hitOf(event);
        this.canvas.style.cursor = canPull ? "grab" : "";
        return;
      }
      if (!this.plane) return;
      const target = this.rayOf(event).ray.intersectPlane(this.plane, new THREE.Vector3());
      if (target) this.target = target;
    },

    keyDown(event) {
      const direction = KEYS[event.key];
      if (!direction || !this.isPullable) return;
      event.preventDefault();
      const tool = this.frames[this.toolFrame].getWorldPosition(new THREE.Vector3());
      if (!this.held) {
        this.plane = null;
        this.start = tool.clone();
        this.grab(this.toolFrame, tool);
      }
      if (!this.plane)
        this.target = this.start.clone().add(new THREE.Vector3(...direction).multiplyScalar(KEY_REACH_M));
    },

    grab(frame, point) {
      this.held = frame;
      this.target = point.clone();
      this.canvas.style.cursor = "grabbing";
      const local = this.frames[frame].worldToLocal(point.clone());
      this.$emit("pull", { what: "grab", link: frame, hand: local.toArray() });
      this.teller = setInterval(() => {
        this.$emit("pull", { what: "drag", target: this.target.toArray() });
      }, TELL_MS);
    },

    release() {
      if (!this.held) return;
      this.held = "";
      this.plane = null;
      clearInterval(this.teller);
      this.canvas.style.cursor = "";
      this.$emit("pull", { what: "release" });
    },
  },
};
