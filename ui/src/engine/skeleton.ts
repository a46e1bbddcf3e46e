// SPDX-License-Identifier: Apache-2.0
//
// All nodes that a tree of one or two views can have, whatever is asked: steps of the tries that
// say the same are one node. Level by level, siblings in the order of their names; a tree leaves
// out what has no weight and keeps the order.

import type { Trie } from "./trie.ts";

export interface Skeleton {
  count: number;
  parent: Uint32Array;
  name: Uint32Array;
  nodeOf: Uint32Array[]; // per trie, per step of it
}

const MANY = 0xffffffff; // more than one child

class Merger {
  count = 1;
  parent: Uint32Array;
  name: Uint32Array;
  // Most nodes have one child at most, which is kept here; only those with more are in the table.
  private readonly only: Uint32Array; // 0: none yet; MANY: in the table
  private table = new Uint32Array(4096); // open addressing, at most half full; 0: free
  private nInTable = 0;

  constructor(most: number) {
    this.parent = new Uint32Array(most);
    this.name = new Uint32Array(most);
    this.only = new Uint32Array(most);
  }

  child(parent: number, name: number): number {
    const only = this.only[parent];
    if (only && only !== MANY) {
      if (this.name[only] === name)
        return only;
      this.only[parent] = MANY;
      this.tabulate(only);
    }
    if (only) {
      const known = this.table[this.slot(parent, name)];
      if (known)
        return known;
    }
    const node = this.count++;
    this.parent[node] = parent;
    this.name[node] = name;
    if (only)
      this.tabulate(node);
    else
      this.only[parent] = node;
    return node;
  }

  private slot(parent: number, name: number): number {
    const mask = this.table.length - 1;
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    for (let at = (hash ^ (hash >>> 13)) & mask; ; at = (at + 1) & mask) {
      const held = this.table[at];
      if (!held || (this.parent[held] === parent && this.name[held] === name))
        return at;
    }
  }

  private tabulate(node: number): void {
    this.table[this.slot(this.parent[node], this.name[node])] = node;
    if (++this.nInTable * 2 <= this.table.length)
      return;
    const before = this.table;
    this.table = new Uint32Array(before.length * 4);
    for (const known of before)
      if (known)
        this.table[this.slot(this.parent[known], this.name[known])] = known;
  }
}

function merge(tries: Trie[], namesOf: Uint32Array[], merger: Merger): Uint32Array[] {
  return tries.map((trie, t) => {
    const nodeOf = new Uint32Array(trie.count);
    const names = namesOf[t];
    for (let i = 1; i < trie.count; i++)
      nodeOf[i] = merger.child(nodeOf[trie.parent[i]], names[trie.frame[i]]);
    return nodeOf;
  });
}

// Places in a list sorted by key, where each key's run begins: the usual counting sort.
function countingSort(keys: Uint32Array, count: number, nKeys: number, items?: Uint32Array) {
  const start = new Uint32Array(nKeys + 1);
  for (let i = 1; i < count; i++)
    start[keys[i] + 1]++;
  for (let k = 0; k < nKeys; k++)
    start[k + 1] += start[k];
  const next = start.slice();
  const sorted = new Uint32Array(count - 1);
  for (let i = 1; i < count; i++) {
    const item = items ? items[i - 1] : i;
    sorted[next[keys[item]]++] = item;
  }
  return { start, sorted };
}

// Per node its place, level by level.
function levelOrder(merger: Merger, nNames: number): Uint32Array {
  const { count, parent, name } = merger;
  const byName = countingSort(name, count, nNames).sorted;
  const { start, sorted } = countingSort(parent, count, count, byName);
  const place = new Uint32Array(count);
  const queue = new Uint32Array(count);
  for (let at = 0, end = 1; at < end; at++) {
    const node = queue[at];
    for (let k = start[node]; k < start[node + 1]; k++) {
      place[sorted[k]] = end;
      queue[end++] = sorted[k];
    }
  }
  return place;
}

// namesOf: per trie, per frame of its model, a name below nNames.
export function makeSkeleton(tries: Trie[], namesOf: Uint32Array[], nNames: number): Skeleton {
  const merger = new Merger(tries.reduce((sum, trie) => sum + trie.count, 1));
  const merged = merge(tries, namesOf, merger);
  const place = levelOrder(merger, nNames);
  const parent = new Uint32Array(merger.count);
  const name = new Uint32Array(merger.count);
  for (let i = 1; i < merger.count; i++) {
    parent[place[i]] = place[merger.parent[i]];
    name[place[i]] = merger.name[i];
  }
  for (const nodeOf of merged)
    for (let i = 0; i < nodeOf.length; i++)
      nodeOf[i] = place[nodeOf[i]];
  return { count: merger.count, parent, name, nodeOf: merged };
}
