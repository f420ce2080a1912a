/** What a node carries so that a list can link it. A node is in one list at most; `list` says in which. */
export interface Linked<Node extends Linked<Node>> {
  list: LinkedList<Node> | null;
  older: Node | null;
  newer: Node | null;
}

/**
 * An ordered set, oldest first, with every operation in constant time.
 *
 * A `Map` that is consumed from its front would do the same, but its iterator walks over all deleted slots
 * before the first live one, which makes each eviction linear in the capacity.
 */
export class LinkedList<Node extends Linked<Node>> {
  #oldest: Node | null = null;
  #newest: Node | null = null;
  #size = 0;

  get oldest(): Node | null {
    return this.#oldest;
  }

  get size(): number {
    return this.#size;
  }

  /** Links a node behind all others, out of any list it was in. */
  append(node: Node): void {
    node.list?.remove(node);
    node.list = this;
    node.older = this.#newest;
    node.newer = null;
    if (this.#newest === null) this.#oldest = node;
    else this.#newest.newer = node;
    this.#newest = node;
    this.#size += 1;
  }

  /** Unlinks a node. One that is elsewhere or nowhere is left alone. */
  remove(node: Node): void {
    if (node.list !== this) return;
    if (node.older === null) this.#oldest = node.newer;
    else node.older.newer = node.newer;
    if (node.newer === null) this.#newest = node.older;
    else node.newer.older = node.older;
    node.list = null;
    node.older = null;
    node.newer = null;
    this.#size -= 1;
  }

  clear(): void {
    for (let node = this.#oldest; node !== null; node = this.#oldest) this.remove(node);
  }

  *[Symbol.iterator](): IterableIterator<Node> {
    for (let node = this.#oldest; node !== null; node = node.newer) yield node;
  }
}
