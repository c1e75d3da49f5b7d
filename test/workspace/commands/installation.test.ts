/** A11, as root and as an ordinary user: a command in a workspace in which Emend is installed does not change the Emend that you start next. */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ownPlacesIn } from '../../../src/system/own-installation.js';
import { programDirectories } from '../../../src/workspace/layers/programs.js';
import { removeTree } from '../../../src/workspace/layers/index.js';
import { boxUsers, endBoxUsers, found, whyNone, type BoxUser } from '../../support/box-users.js';
import { listing } from '../../support/listing.js';
import { describeIf } from '../../support/skipped.js';
import { transpile } from '../../support/transpile.js';

const root = resolve(import.meta.dirname, '../../..');
const ENTRY = 'test/workspace/commands/installation-child.js';

let base = '';
const bases: string[] = [];
const pathOf = (...names: readonly string[]): string => join(base, ...names);
const write = (path: string, text = ''): string => {
  fs.mkdirSync(dirname(pathOf(path)), { recursive: true });
  fs.writeFileSync(pathOf(path), text);
  return pathOf(path);
};
beforeEach(() => {
  base = fs.realpathSync(fs.mkdtempSync('/tmp/emend-installed-'));
  bases.push(base);
  fs.chmodSync(base, 0o755);
});
afterAll(async () => {
  for (const directory of bases) await removeTree(directory);
});

test('the installation in a workspace is its code, the packages around it, the links to it and Node.js', () => {
  const placesIn = (module: string, script: string | null = null, node = '/usr/bin/node') =>
    ownPlacesIn(pathOf('ws'), { module, script, node }).map((path) => path.slice(base.length + 1));
  const npm = write('ws/node_modules/emend/dist/client.js');
  write('ws/node_modules/emend/package.json');
  expect(placesIn(npm)).toEqual(['ws/node_modules']);

  const vendored = write('ws/tools/emend/dist/client.js');
  write('ws/tools/emend/package.json');
  expect(placesIn(vendored)).toEqual(['ws/node_modules', 'ws/tools']);

  // The workspace is Emend's own repository.
  write('ws/package.json');
  expect(placesIn(write('ws/dist/src/client.js'))).toEqual(['ws/node_modules', 'ws/dist']);

  // `npm link`: only the links are in the workspace.
  const elsewhere = write('emend/dist/client.js');
  write('emend/package.json');
  fs.mkdirSync(pathOf('ws/bin'));
  fs.symlinkSync(pathOf('emend'), pathOf('ws/bin/emend'));
  expect(placesIn(elsewhere, pathOf('ws/bin/emend/dist/client.js'))).toEqual(['ws/bin']);
  expect(placesIn(elsewhere, null, write('ws/.node/bin/node'))).toEqual(['ws/.node/bin']);
  expect(placesIn(elsewhere)).toEqual([]);
});

describeIf(found.works, whyNone)('Emend is installed in the workspace', () => {
  let program: ReturnType<typeof transpile>;
  let users: readonly BoxUser[] = [];
  beforeAll(async () => {
    program = transpile('installation', ENTRY.replace('.js', '.ts'));
    users = await boxUsers();
  }, 60_000);
  afterAll(async () => {
    program.remove();
    await endBoxUsers();
  });

  /** Installs Emend at `place` in a new workspace of the user, runs the commands by it, and returns what they printed. */
  const outputs = (
    user: BoxUser,
    { place, how }: { readonly place: string; readonly how: string },
    ...commands: readonly string[]
  ): readonly string[] => {
    for (const path of ['home', 'person'])
      fs.mkdirSync(pathOf(user.name, path), { recursive: true });
    const workspace = pathOf(user.name, 'ws');
    execFileSync('git', ['init', '-q', workspace]);
    const built = program.path.slice(0, -ENTRY.length);
    fs.cpSync(built, join(workspace, place, 'dist'), { recursive: true });
    fs.writeFileSync(join(workspace, place, 'package.json'), '{ "type": "module" }\n');
    fs.writeFileSync(join(workspace, '.gitignore'), 'node_modules\ntools\nout\n');
    const packages = join(workspace, 'node_modules');
    fs.mkdirSync(join(packages, '.bin'), { recursive: true });
    for (const name of fs.readdirSync(join(root, 'node_modules')))
      if (!name.startsWith('.'))
        fs.symlinkSync(join(root, 'node_modules', name), join(packages, name));
    fs.symlinkSync(join('..', '..', place, 'dist', ENTRY), join(packages, '.bin/emend'));
    execFileSync('chown', ['-R', `${user.uid}:${user.uid}`, pathOf(user.name)]);
    const before = listing(join(workspace, 'node_modules'));
    const tools = place.startsWith('tools') ? listing(join(workspace, 'tools')) : {};
    const entry = join(packages, '.bin/emend');
    const argv = [...user.as, process.execPath, entry, how, pathOf(user.name, 'home'), workspace];
    const output = execFileSync(argv[0] ?? '', [...argv.slice(1), ...commands], {
      cwd: workspace,
      encoding: 'utf8',
      env: {
        HOME: pathOf(user.name, 'person'),
        PATH: process.env.PATH,
        TMPDIR: '/tmp',
        EMEND_BWRAP: user.ownBubblewrap,
      },
    });
    expect(listing(join(workspace, 'node_modules'))).toEqual(before);
    if (place.startsWith('tools')) expect(listing(join(workspace, 'tools'))).toEqual(tools);
    return JSON.parse(output) as string[];
  };
  const forEachUser = (use: (user: BoxUser) => void): void => {
    for (const user of users) use(user);
  };

  test.each(['boxed', 'off'])(
    'A11: %s, a command changes its own copy of Emend, of its packages and of the links, and the workspace itself',
    (how) => {
      forEachUser((user) => {
        const place = 'node_modules/emend';
        const attack = [
          `echo changed > ${place}/dist/${ENTRY}`,
          'rm node_modules/.bin/emend && echo changed > node_modules/.bin/emend',
          'rm node_modules/zod && mkdir node_modules/zod',
          'rm -r node_modules/emend',
          'echo kept > result',
        ].join(' && ');
        const aside = 'mv node_modules aside 2>/dev/null || echo refused';
        const printed = outputs(user, { place, how }, attack, aside, 'cat result');
        expect([user.name, printed]).toEqual([
          user.name,
          [' (exit 0)', 'refused (exit 0)', 'kept (exit 0)'],
        ]);
      });
    },
  );

  test.each(['boxed', 'off'])(
    'A11: %s, neither a vendored Emend nor a directory above it can be replaced',
    (how) => {
      forEachUser((user) => {
        const place = 'tools/vendor/emend';
        const printed = outputs(
          user,
          { place, how },
          `echo changed > ${place}/dist/${ENTRY} && mkdir tools/node_modules`,
          'mv tools aside 2>/dev/null || echo refused',
          'rm -r tools/vendor',
        );
        expect([user.name, printed]).toEqual([
          user.name,
          [' (exit 0)', 'refused (exit 0)', ' (exit 0)'],
        ]);
      });
    },
  );

  test('A11: on an overlay, the next command does not get a changed Emend among the outputs that are kept', () => {
    forEachUser((user) => {
      const place = 'tools/emend';
      const printed = outputs(
        user,
        { place, how: 'layers' },
        `echo changed > ${place}/dist/${ENTRY} && mkdir out && echo built > out/file`,
        `grep -c changed ${place}/dist/${ENTRY} || cat out/file`,
      );
      expect([user.name, printed]).toEqual([user.name, [' (exit 0)', '0\nbuilt (exit 0)']]);
    });
  });
});

test('A11: the directories that `sandbox.write` cannot name include the installation', () => {
  // The tests themselves run from this repository.
  expect(programDirectories({ PATH: '' }, root)).toEqual(
    expect.arrayContaining(['node_modules', 'src']),
  );
});
