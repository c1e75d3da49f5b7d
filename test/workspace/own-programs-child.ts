/** Run by a test as some user in a workspace with programs on PATH: has Emend start each kind of program, and prints what came of it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { callTool } from '../../src/cli/headless/approve.js';
import { processIo } from '../../src/cli/io.js';
import { signText } from '../../src/system/ssh-signature.js';
import { fetchWheel } from '../../src/system/wheel.js';
import { findTemporalCli } from '../../src/temporal/cli-binary.js';
import { createLocalRunner, findBubblewrap } from '../../src/workspace/commands/index.js';
import { repositoryOf } from '../../src/workspace/git/index.js';
import { gitGroup } from '../../src/workspace/git/git.js';
import { markRemoved } from '../../src/workspace/layers/parents.js';

const [, , workspace = '', layer = ''] = process.argv;
const outcomeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    (value) => `ok ${JSON.stringify(value)}`,
    (error: unknown) => `failed: ${error instanceof Error ? error.message : String(error)}`,
  );

mkdirSync(layer, { recursive: true });
const io = processIo();
const { env } = process;
const how = { what: 'Nothing is asked', next: 'Nothing.' };
const sha256 = { [`${process.platform}-${process.arch}`]: '0'.repeat(64) };
const wheel = { requirement: 'emend-none==0', sha256 };
const group = { cwd: workspace, timeout_s: 60, maxOutput_bytes: 10_000 };
const results = {
  gh: await outcomeOf(callTool(io, workspace, ['gh', '--version'], how)),
  git: await outcomeOf(repositoryOf(workspace)),
  group: await outcomeOf(gitGroup(['--version'], group)),
  // git starts ssh-keygen by its name.
  commit: await outcomeOf(gitGroup(['commit', '-q', '--allow-empty', '-S', '-m', 'signed'], group)),
  sign: await outcomeOf(signText('text', join(workspace, '.git/key'), 'test')),
  pip: await outcomeOf(fetchWheel(wheel, { ...env, PIP_NO_INDEX: '1' }, () => null)),
  temporal: await outcomeOf(findTemporalCli({ env, fetch: false })),
  bwrap: await outcomeOf(findBubblewrap(env, { fetch: false })),
  marks: await outcomeOf(markRemoved(layer, ['removed'])),
  pager: await outcomeOf(io.runTool('cat', [], 'page\n')),
  // A command of the user's keeps its PATH.
  command: await outcomeOf(
    createLocalRunner(env).run({
      ...group,
      command: 'command -v tool',
      sandbox: 'off',
      env: [],
    }),
  ),
};
process.stdout.write(JSON.stringify(results));
