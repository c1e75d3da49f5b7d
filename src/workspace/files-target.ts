/** What a path of the workspace really is, before anything is read from it. */
import type { Stats } from 'node:fs';
import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';

import { checkPath } from '../edits/paths.js';
import { problem, type Problem } from '../shared/problems.js';
import { kindOf } from './given-file.js';
import { errnoOf } from './sys.js';
import type { Result } from './types.js';

export interface TargetFacts {
  /** As named, in normal form. */
  readonly path: string;
  /** Workspace-relative path of the file itself: differs from `path` where that leads through symbolic links. This is what is edited. */
  readonly target: string;
  /** Absolute, free of links. */
  readonly realPath: string;
  readonly bytes: number;
  /** Permission bits (0o777 part). */
  readonly mode: number;
  readonly symlink: boolean;
}

/**
 * Facts of an existing regular file inside the workspace. Problems: `target_missing` (and then a file may be made there: its
 * directory lies inside), `target_not_a_file`, `target_outside`, `target_too_large`, `disk` (may not be looked at).
 */
export async function inspectTarget(
  root: string,
  path: string,
  maxFile_bytes: number | null,
): Promise<Result<TargetFacts>> {
  const no = (code: Problem['code'], why: string): Result<TargetFacts> => ({
    ok: false,
    problem: problem(code, `${path}: ${why}`),
  });
  const checked = checkPath(path);
  if (!checked.ok) return no('target_outside', checked.why);
  const realRoot = await realpath(root);
  const inside = (real: string): string | null => {
    const local = relative(realRoot, real).split(sep).join('/');
    return real.startsWith(realRoot.endsWith(sep) ? realRoot : realRoot + sep) && checkPath(local).ok ? local : null;
  };
  const asked = join(realRoot, checked.path);
  let realPath: string;
  let facts: Stats;
  try {
    realPath = await realpath(asked);
    facts = await stat(realPath);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ELOOP') return no('target_not_a_file', 'symbolic links lead round in a circle');
    if (code === 'EACCES' || code === 'EPERM') return no('disk', 'permission denied');
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG') throw error;
    return whyMissing(asked, realRoot, inside, no);
  }
  const target = inside(realPath);
  if (realPath === realRoot) return no('target_not_a_file', 'it is a directory, a file was expected');
  if (target === null)
    return no('target_outside', `it leads to ${realPath}, which is not inside ${realRoot} (or is git's own)`);
  if (!facts.isFile()) return no('target_not_a_file', `it is ${kindOf(facts)}, a file was expected`);
  if (maxFile_bytes !== null && facts.size > maxFile_bytes) {
    return no('target_too_large', `it has ${facts.size} bytes, at most ${maxFile_bytes} (maxFile_bytes) are edited`);
  }
  const value = {
    path: checked.path,
    target,
    realPath,
    bytes: facts.size,
    mode: facts.mode & 0o777,
    symlink: target !== checked.path,
  };
  return { ok: true, value };
}

/** Nothing is there: is it a dangling link, or a new file, and would a new file lie inside? */
async function whyMissing(
  asked: string,
  realRoot: string,
  inside: (real: string) => string | null,
  no: (code: Problem['code'], why: string) => Result<TargetFacts>,
): Promise<Result<TargetFacts>> {
  const link = await lstat(asked).catch(() => null);
  if (link?.isSymbolicLink()) return no('target_missing', 'it is a symbolic link that leads to nothing');
  for (let dir = dirname(asked); ; dir = dirname(dir)) {
    const real = await realpath(dir).catch(() => null);
    if (real === null) continue;
    if (real !== realRoot && inside(real) === null)
      return no('target_outside', `${dir} leads to ${real}, outside of ${realRoot}`);
    if (!(await stat(real)).isDirectory())
      return no('target_missing', `${relative(realRoot, real)} is a file, not a directory`);
    return no('target_missing', 'there is no such file');
  }
}
