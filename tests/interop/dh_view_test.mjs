// SPDX-License-Identifier: Apache-2.0
//
// Our DHAT export against valgrind's own viewer. dh_view.js is loaded as it is, with just enough of
// a page around it; a file passes when the viewer builds its tree and displays it under every sort
// metric it offers, and its totals are the sums of our points. The judge is judged as well: files
// broken in the ways the viewer is known to refuse must fail here.
//
// usage: node dh_view_test.mjs FILE.json…     exit 77 (skipped) when valgrind is not installed
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import assert from 'node:assert/strict';

function findViewer() {
  const places = (process.env.PATH ?? '').split(':').map((bin) => path.join(bin, '..'));
  for (const prefix of ['/usr', '/usr/local', ...places])
    for (const sub of ['libexec/valgrind', 'lib/valgrind', 'lib/x86_64-linux-gnu/valgrind',
                       'lib/aarch64-linux-gnu/valgrind']) {
      const file = path.join(prefix, sub, 'dh_view.js');
      if (fs.existsSync(file)) return file;
    }
  return null;
}

// Elements remember children and text; nothing is drawn.
class Element {
  constructor(tag) {
    this.tag = tag;
    this.childNodes = [];
    this.text = '';
    this.selectedFlag = false;
    this.classList = { contains: () => false, toggle() {}, add() {}, remove() {} };
  }
  appendChild(child) {
    this.childNodes.push(child);
    child.parentNode = this;
    return child;
  }
  removeChild(child) {
    this.childNodes = this.childNodes.filter((c) => c !== child);
  }
  cloneNode() {
    return new Element(this.tag);
  }
  replaceChild(fresh, old) {
    this.childNodes = this.childNodes.map((c) => (c === old ? fresh : c));
    fresh.parentNode = this;
  }
  get lastChild() { return this.childNodes[this.childNodes.length - 1] ?? null; }
  get firstChild() { return this.childNodes[0] ?? null; }
  set textContent(text) { this.childNodes = []; this.text = text; }
  get textContent() { return this.text + this.childNodes.map((c) => c.textContent).join(''); }
  set selected(on) {
    for (const sibling of this.parentNode?.childNodes ?? []) sibling.selectedFlag = false;
    this.selectedFlag = on;
  }
  get selected() { return this.selectedFlag; }
  get selectedIndex() { return this.childNodes.findIndex((c) => c.selectedFlag); }
  addEventListener() {}
  setAttribute() {}
}

function newViewer(source) {
  const body = new Element('body');
  const context = vm.createContext({
    document: {
      body,
      title: '',
      location: { search: '' },
      createElement: (tag) => new Element(tag),
      createTextNode: (text) => Object.assign(new Element('#text'), { text }),
    },
    URLSearchParams,
    performance,
    Intl,
    console,
  });
  vm.runInContext(source, context);
  vm.runInContext('onLoad()', context);
  return context;
}

// Throws whatever the viewer throws. Gives the text shown under each metric.
function view(source, json) {
  const context = newViewer(source);
  context.input = json;
  vm.runInContext('gFilename = "test"; gData = JSON.parse(input); buildTree();', context);
  const n = vm.runInContext('gSelectData.length', context);
  const shown = [];
  for (let i = 0; i < n; i++) {
    const usable = vm.runInContext(
      `gSelect.childNodes[${i}].selected = true; !gSelect.childNodes[${i}].disabled`, context);
    if (!usable) continue;
    vm.runInContext('displayTree()', context);
    shown.push(vm.runInContext('gMainDiv.textContent', context));
  }
  const totals = vm.runInContext(
    `({bytes: gRoot._totalBytes, blocks: gRoot._totalBlocks, peak: gRoot._atTGmaxBytes,
       end: gRoot._atTEndBytes})`, context);
  return { shown, totals };
}

function checkGood(source, file) {
  const json = fs.readFileSync(file, 'utf8');
  const data = JSON.parse(json);
  const { shown, totals } = view(source, json);
  const sum = (key) => data.pps.reduce((n, p) => n + p[key], 0);
  const isAdHoc = data.mode === 'ad-hoc';
  assert.ok(shown.length >= (isAdHoc ? 2 : 5), `${file}: ${shown.length} metrics were usable`);
  assert.equal(totals.bytes, sum('tb'));
  assert.equal(totals.blocks, sum('tbk'));
  if (isAdHoc) {
    const told = `${sum('tb').toLocaleString('en-US')} units`;
    const events = `${sum('tbk').toLocaleString('en-US')} events`;
    for (const text of shown)
      assert.ok(text.includes(told) && text.includes(events), text.slice(0, 400));
  } else {
    assert.equal(totals.peak, sum('gb'));
    assert.equal(totals.end, sum('eb'));
  }
  assert.equal(data.ftbl[0], '[root]');
  for (const text of shown) {
    assert.ok(text.includes(data.cmd), 'the command is not shown');
    assert.ok(!/NaN|undefined/.test(text), 'a number is missing: ' + text.slice(0, 400));
  }
  for (const p of data.pps)
    assert.ok(p.fs.length > 0 && p.fs.every((f) => f > 0 && f < data.ftbl.length));
  for (const p of isAdHoc ? [] : data.pps) {
    assert.ok(p.gb <= p.mb && p.eb <= p.mb && p.mb <= p.tb, 'bytes out of order');
    assert.ok(p.gbk <= p.mbk && p.ebk <= p.mbk && p.mbk <= p.tbk, 'blocks out of order');
  }
}

function checkRefused(source, file) {
  const spoil = (change) => {
    const data = JSON.parse(fs.readFileSync(file, 'utf8'));
    change(data);
    return JSON.stringify(data);
  };
  const isAdHoc = JSON.parse(fs.readFileSync(file, 'utf8')).mode === 'ad-hoc';
  const broken = {
    'missing a field': (d) => delete d[isAdHoc ? 'te' : 'tg'],
    [`missing a field: ${isAdHoc ? 'tbk' : 'mbk'}`]:
      (d) => delete d.pps[1][isAdHoc ? 'tbk' : 'mbk'],
    'expected version number': (d) => { d.dhatFileVersion = 3; },
    'repeated location': (d) => { d.pps.push({ ...d.pps[0] }); },
  };
  for (const [message, change] of Object.entries(broken))
    assert.throws(() => view(source, spoil(change)), (e) => e.message.includes(message), message);
  assert.throws(() => view(source, fs.readFileSync(file, 'utf8').slice(0, -20)), /JSON/);
}

const viewer = findViewer();
if (!viewer) {
  console.log('dh_view.js not found: valgrind is not installed');
  process.exit(77);
}
const source = fs.readFileSync(viewer, 'utf8');
const files = process.argv.slice(2);
assert.ok(files.length > 0, 'no file given');
for (const file of files) {
  checkGood(source, file);
  checkRefused(source, file);
  console.log(`ok ${path.basename(file)} in ${viewer}`);
}
