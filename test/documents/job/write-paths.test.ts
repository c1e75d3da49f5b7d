import { describe, expect, test } from '@jest/globals';
import { isDependencyFolder } from '../../../src/documents/job/dependency-folders.js';
import {
  outsideWrites,
  workspaceWrites,
  writeRefusal,
} from '../../../src/documents/job/write-paths.js';
import { parseConfig } from '../../../src/documents/job/config.js';

const PLACES = { root: '/home/u/app', home: '/home/u' };
const settingsOf = (...write: readonly string[]) => ({ write });

describe('paths of `sandbox.write`', () => {
  test('are separated into those inside the workspace and those elsewhere', () => {
    const settings = settingsOf(
      './test//__snapshots__',
      'reports/',
      'build/',
      '/home/u/app/out.txt',
      '~/app/coverage/',
      '/home/u/application',
      '~/.cache/tool',
    );
    expect(workspaceWrites(settings, PLACES)).toEqual([
      'test/__snapshots__',
      'reports',
      'build',
      'out.txt',
      'coverage',
    ]);
    expect(outsideWrites(settings, PLACES)).toEqual(['/home/u/application', '/home/u/.cache/tool']);
  });

  test.each(['reports', 'test/__snapshots__/', './coverage', 'build/', 'a/package.json.snap'])(
    'emend.yaml takes %s as it is written',
    (path) => {
      const read = parseConfig(`sandbox: { write: [${path}] }`);
      expect(read.ok && read.value.sandbox).toMatchObject({ write: [path] });
    },
  );

  test('a folder may be named if only some of its files are protected', () => {
    const read = parseConfig('protected: ["*.md"]\nsandbox: { write: [reports, docs/out/] }');
    expect(read.ok).toBe(true);
  });

  test.each([
    ['/home/u/app', 'not the workspace itself'],
    ['~/app/', 'not the workspace itself'],
    ['/home/u/app/.git/hooks', 'outside .git'],
    ['~/app/.venv/bin', 'outside dependency folders'],
    ['/home/u/app/emend.yaml', 'models and agents follow it'],
    ['/home/u/app/jobs', 'Emend obeys it'],
  ])('%s, which is inside, is refused: %s', (path, words) => {
    expect(() => workspaceWrites(settingsOf('reports', path), PLACES)).toThrow(words);
  });

  test.each(['/home/u', '~/.', '/home'])('%s, which contains the workspace, is refused', (path) => {
    expect(() => outsideWrites(settingsOf(path), PLACES)).toThrow('it contains the workspace');
  });

  test.each([
    ['test/conftest.py', 'a file that is not protected (test runners'],
    ['reports/jobs/b.md', 'a path that is not protected (Emend'],
    ['reports/node_modules/a.js', 'a path outside dependency folders'],
    ['reports/.git', 'a path outside .git'],
    ['build/out.js', null],
    ['reports/a.xml', null],
  ])('a command that left %s below a named path', (path, refusal) => {
    if (refusal === null) expect(writeRefusal(path)).toBeNull();
    else expect(writeRefusal(path)).toContain(refusal);
  });
});

test.each([
  ['node_modules', true],
  ['packages/a/node_modules/.bin/eslint', true],
  ['ios/Pods/a.m', true],
  ['.venv', true],
  ['vendor/bundle', true],
  ['src/vendors.ts', false],
  ['node_modules.md', false],
])('%s is in a dependency folder: %s', (path, expected) => {
  expect(isDependencyFolder(path)).toBe(expected);
});
