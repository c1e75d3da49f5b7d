/** Each folder of examples/ runs as it stands, on the packed package; they and the code of docs/library.md compile against its types. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import ts from 'typescript';
import { answerFor, planText } from './plan-support.js';
import { type Scene, scene, whole } from './support.js';
import { packedProject, type PackedProject } from './packed.js';

let project: PackedProject;
let s: Scene | undefined;
const children: ChildProcess[] = [];

beforeAll(() => {
  project = packedProject('examples');
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => ended(child, 'SIGTERM')));
  await s?.close();
  s = undefined;
});
afterAll(() => {
  project.remove();
});

const ended = (child: ChildProcess, signal?: NodeJS.Signals): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve(child.exitCode);
      return;
    }
    child.once('exit', resolve);
    if (signal !== undefined) child.kill(signal);
  });

/** Runs a file of an example; `said` is what it has printed so far. */
const run = (
  file: string,
  args: readonly string[],
  env: Record<string, string | undefined> = {},
) => {
  const child = spawn(process.execPath, [join(project.dir, 'examples', file), ...args], {
    cwd: project.dir,
    env: { ...process.env, ...env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { said: () => said, ended: () => ended(child), stop: () => ended(child, 'SIGTERM') };
};
const cli = (dir: string, env: Scene['env'], ...args: string[]): string =>
  execFileSync(process.execPath, [join(dir, 'node_modules/emend/dist/client.js'), ...args], {
    encoding: 'utf8',
    env: { ...env, NODE_OPTIONS: '' },
  });

test('run-job: prints the diff, waits for a person, tells the commit; a fault of the job ends it with its code', async () => {
  s = await scene({ 'greet.js': 'console.log("hi");\n' }, [
    { name: 'greet', match: {}, answer: whole({ 'greet.js': 'console.log("Good morning");\n' }) },
  ]);
  const { env, repo } = s;
  await s.worker();
  const example = run('run-job/main.js', [repo], env);
  await s.until(() => /emend review [0-9a-f]{8}/.test(example.said()));
  expect(example.said()).toContain('+console.log("Good morning");');
  const [, stepKey = ''] = /emend review ([0-9a-f]{8})/.exec(example.said()) ?? [];
  const { status } = JSON.parse(cli(project.dir, env, 'show', stepKey, '--json')) as {
    status: { title: string; jobPath: string; decision: { id: string } };
  };
  expect(status).toMatchObject({
    title: 'Greet politely',
    jobPath: 'greet-politely-say-good-morning',
  });
  cli(project.dir, env, 'decide', stepKey, 'approve', '--decision', status.decision.id);
  expect(await example.ended()).toBe(0);
  expect(example.said()).toContain(`committed ${s.git('rev-parse', 'HEAD').trim()}`);

  const other = run('run-job/main.js', [join(repo, 'none')], env);
  expect(await other.ended()).toBe(1);
  expect(other.said()).toMatch(/^usage: The workspace .*none is not a directory\./);
}, 120_000);

test('docs-bot: approves a change of documentation, leaves code to people, and stops when it is told to', async () => {
  const word = (path: string, text: string) =>
    ({
      name: path,
      match: { contains: `Change ${path}` },
      answer: whole({ [path]: text }),
    }) as const;
  s = await scene({ 'docs/a.md': 'old\n', 'b.js': 'old();\n' }, [
    word('docs/a.md', 'new\n'),
    word('b.js', 'fresh();\n'),
  ]);
  await s.worker();
  const job = (path: string) =>
    `---\ntarget_files: [${path}]\ntest: false\ncommit: true\n---\n# Change ${path}\n\nDo it.\n`;
  const code = await s.start('jobs/code.md', job('b.js'));
  const docs = await s.start('jobs/docs.md', job('docs/a.md'));
  await s.settle(code);
  const bot = run('docs-bot/main.js', [], s.env);
  expect(await s.end(docs)).toMatchObject({ outcome: 'committed', files: ['docs/a.md'] });
  await s.until(() => bot.said().includes('Change docs/a.md: resolved'));
  expect((await s.show(code)).status).toMatchObject({
    state: 'waiting',
    decision: { reason: 'approval' },
  });
  expect(await bot.stop()).toBe(0);
}, 120_000);

test("child-workflow: editStep as a child of a workflow on somebody's own worker, found and told of like any run", async () => {
  s = await scene({ 'version.js': "export const version = '1.0.0';\n" }, [
    {
      name: 'bump',
      match: {},
      answer: whole({ 'version.js': "export const version = '1.2.0';\n" }),
    },
  ]);
  const { env, repo } = s;
  const worker = run('child-workflow/worker.js', [], env);
  await s.until(() => worker.said().includes('ready'), 60);
  const release = run('child-workflow/start.js', [repo, '1.2.0'], env);
  expect(await release.ended()).toBe(0);
  expect(release.said()).toBe(`released 1.2.0 at ${s.git('rev-parse', 'HEAD').trim()}\n`);
  expect(s.read('version.js')).toContain('1.2.0');
  const listed = JSON.parse(
    cli(project.dir, { ...env, EMEND_QUEUE: 'release' }, 'list', '--json'),
  ) as {
    runs: { title: string; state: string; workflowId: string }[];
  };
  expect(listed.runs).toMatchObject([{ title: 'Release 1.2.0', state: 'done' }]);
  await worker.stop();
}, 180_000);

test.each([
  ['a queue for each role', {}],
  ['one queue for all roles', { EMEND_ONE_QUEUE: '1' }],
])(
  'plugin: the worker of a team runs editStep, and its exporter has the spans of workflows and activities: %s',
  async (_, variables) => {
    s = await scene({ 'greet.js': 'console.log("hi");\n' }, [
      {
        name: 'greet',
        match: {},
        answer: whole({ 'greet.js': 'console.log("Good morning");\n' }),
      },
    ]);
    const example = run('plugin/worker.js', [s.repo], { ...s.env, ...variables });
    expect([await example.ended(), example.said()]).toEqual([
      0,
      expect.stringMatching(/^committed$/m),
    ]);
    expect(s.git('show', 'HEAD:greet.js')).toContain('Good morning');
    const names = [...new Set(example.said().match(/^\w+:\w+$/gm))];
    expect(names).toEqual(
      expect.arrayContaining([
        'StartWorkflow:greet',
        'RunWorkflow:greet',
        'StartChildWorkflow:editStep',
        'RunWorkflow:editStep',
        'StartActivity:proposeEdit',
        'RunActivity:beginRun',
        'RunActivity:proposeEdit',
        'RunActivity:applyProposal',
        'RunActivity:runTests',
        'RunActivity:commit',
      ]),
    );
  },
  180_000,
);

test("a plan as a child of a workflow of one's own: its phase is committed, and its run is listed", async () => {
  const phase = { name: 'One', file: 'src/one.js' };
  const opened = (s = await scene(
    { 'plans/010_demo.md': planText([phase]), 'emend.yaml': 'test: false\nbaseline: off\n' },
    [answerFor(phase)],
  ));
  writeFileSync(join(project.dir, 'nightly-workflows.js'), NIGHTLY_WORKFLOWS);
  writeFileSync(join(project.dir, 'nightly.js'), NIGHTLY);
  const own = run('../nightly.js', [opened.repo], {
    ...opened.env,
    EMEND_QUEUE: 'nightly',
  });
  expect([await own.ended(), own.said()]).toEqual([
    0,
    expect.stringMatching(/^plan ended: completed$/m),
  ]);
  expect(opened.git('show', 'HEAD:src/one.js')).toBe("export const made = 'src/one.js';\n");
  const { runs } = JSON.parse(cli(project.dir, opened.env, 'list', '--json')) as {
    runs: { title: string }[];
  };
  expect(runs.map(({ title }) => title)).toContain('Demo plan');
}, 240_000);

const NIGHTLY_WORKFLOWS = `
  import { executeChild } from '@temporalio/workflow';
  import { plan } from 'emend/workflows';
  export * from 'emend/workflows';
  export const nightly = async (input) => (await executeChild(plan, { args: [input] })).outcome;
`;
const NIGHTLY = `
  import { fileURLToPath } from 'node:url';
  import { Client, Connection } from '@temporalio/client';
  import { NativeConnection, Worker } from '@temporalio/worker';
  import { createActivities } from 'emend/worker';
  const address = process.env.TEMPORAL_ADDRESS;
  const [connection, client] = await Promise.all([NativeConnection.connect({ address }), Connection.connect({ address })]);
  const { workflows, model, host, close } = await createActivities({ connection });
  const workflowsPath = fileURLToPath(new URL('nightly-workflows.js', import.meta.url));
  const workers = await Promise.all(
    [{ ...workflows, workflowsPath }, model, host].map((options) => Worker.create({ connection, ...options })),
  );
  const running = workers.map((worker) => worker.run());
  const input = { workspace: process.argv[2], planFile: 'plans/010_demo.md', approval: 'auto', estimate: 'approved' };
  const options = { taskQueue: workflows.taskQueue, workflowId: 'nightly', args: [input] };
  console.log('plan ended:', await new Client({ connection: client }).workflow.execute('nightly', options));
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await close();
  await Promise.all([connection.close(), client.close()]);
`;

test('bare-client: starts, waits, approves and reads the result with nothing but the SDK', async () => {
  s = await scene({ 'a.js': 'const a = 1;\n' }, [
    { name: 'a', match: {}, answer: whole({ 'a.js': 'const a = 2;\n' }) },
  ]);
  await s.worker();
  const example = run('bare-client/main.js', [s.repo, 'Set a to 2.', 'a.js'], s.env);
  expect(await example.ended()).toBe(0);
  expect(example.said()).toBe(`a.js +1 -1\ncommitted ${s.git('rev-parse', 'HEAD').trim()}\n`);
}, 120_000);

test('schedule: three nights are three runs, and each does the work of its night', async () => {
  const job = '---\ntarget_files: [a.js]\ntest: false\ncommit: true\n---\n# Raise\n\nSet a to 2.\n';
  const files = { 'a.js': 'const a = 1;\n', 'jobs/raise.md': job, 'emend.yaml': 'baseline: off\n' };
  const opened = (s = await scene(files, [
    { name: 'a', match: {}, answer: whole({ 'a.js': 'const a = 2;\n' }) },
  ]));
  await opened.worker();
  const id = `nightly-${randomUUID().slice(0, 8)}`;
  const example = run('schedule/main.js', [id, opened.repo, 'jobs/raise.md'], opened.env);
  expect(await example.ended()).toBe(0);
  const commits = new Set<string>();
  for (let night = 1; night <= 3; night++) {
    temporal('schedule', 'trigger', '--schedule-id', id);
    await opened.until(
      () => opened.git('rev-list', '--count', 'HEAD').trim() === String(2 * night),
      60,
    );
    commits.add(opened.git('rev-parse', 'HEAD').trim());
    opened.write('a.js', 'const a = 1;\n');
    opened.git('commit', '-qam', `After night ${night}`);
  }
  temporal('schedule', 'delete', '--schedule-id', id);
  expect(commits.size).toBe(3);
  const { runs } = JSON.parse(cli(project.dir, opened.env, 'list', '--json')) as {
    runs: { stepKey: string; state: string }[];
  };
  expect(runs.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
  expect(new Set(runs.map(({ stepKey }) => stepKey)).size).toBe(3);
}, 240_000);

const temporal = (...args: readonly string[]): void => {
  const where = ['--address', process.env.EMEND_TEST_ADDRESS ?? ''];
  execFileSync(process.env.EMEND_TEST_CLI ?? '', [...args, ...where], { stdio: 'ignore' });
};

test('edit-engine: applies an answer, or says why not and writes nothing', async () => {
  const at = (name: string) => join(project.dir, name);
  writeFileSync(at('greet.py'), 'def greet():\r\n    print("hi")\r\n');
  const answer = (find: string, replace: string) =>
    `FILE: greet.py\nFIND:\n    ${find}\nREPLACE:\n    ${replace}\nEND\n`;
  writeFileSync(at('answer.txt'), answer('print("hi")', 'print("hello")'));
  const good = run('edit-engine/main.js', ['greet.py', 'answer.txt']);
  expect(await good.ended()).toBe(0);
  expect(good.said()).toContain('+    print("hello")');
  expect(readFileSync(at('greet.py'), 'utf8')).toBe('def greet():\r\n    print("hello")\r\n');
  writeFileSync(at('answer.txt'), answer('print("what")', 'print("when")'));
  const bad = run('edit-engine/main.js', ['greet.py', 'answer.txt']);
  expect(await bad.ended()).toBe(1);
  expect(bad.said()).toMatch(/^refused: nothing was written\.\n1\. /);
}, 60_000);

test('hooks: a data converter and interceptors of a program reach every payload and activity; who has none is told', async () => {
  const namespace = `own-${randomUUID().slice(0, 8)}`;
  const address = process.env.EMEND_TEST_ADDRESS!;
  const where = ['--address', address, '--namespace', namespace];
  execFileSync(process.env.EMEND_TEST_CLI!, ['operator', 'namespace', 'create', ...where], {
    stdio: 'ignore',
  });
  s = await scene(
    { 'greet.js': 'console.log("hi");\n' },
    [{ name: 'greet', match: {}, answer: whole({ 'greet.js': 'console.log("Good morning");\n' }) }],
    { env: { TEMPORAL_NAMESPACE: namespace } },
  );
  writeFileSync(join(project.dir, 'own-workflows.js'), OWN_WORKFLOWS);
  writeFileSync(join(project.dir, 'own.js'), OWN);
  const own = run('../own.js', [s.repo], s.env);
  expect([await own.ended(), own.said()]).toEqual([
    0,
    expect.stringContaining('"outcome":"committed"'),
  ]);
  expect(JSON.parse(own.said())).toEqual({
    outcome: 'committed',
    first: 1,
    ended: true,
    traced: true,
  });
  const shown = execFileSync(
    process.env.EMEND_TEST_CLI!,
    ['workflow', 'list', ...where, '--output', 'json'],
    {
      encoding: 'utf8',
    },
  );
  expect(shown).toContain(Buffer.from('binary/xor').toString('base64'));
  expect(shown).not.toContain('Greet in secret');
  expect(() => cli(project.dir, s!.env, 'gc', '--dry-run')).toThrow(
    /cannot be read here: .*binary\/xor/,
  );
}, 240_000);

const OWN_WORKFLOWS = `
  export const interceptors = () => ({
    outbound: [{
      scheduleActivity: (input, next) =>
        next({ ...input, headers: { ...input.headers, traced: { metadata: {}, data: new Uint8Array([1]) } } }),
    }],
  });
`;
const OWN = `
  import { fileURLToPath } from 'node:url';
  import { Emend } from 'emend';
  import { createWorker } from 'emend/worker';
  const xor = (bytes) => Uint8Array.from(bytes, (byte) => byte ^ 0x55);
  const base64 = (bytes) => Buffer.from(bytes).toString('base64');
  const seal = ({ metadata, data }) => {
    const fields = Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)]));
    const text = JSON.stringify({ metadata: fields, data: base64(data ?? []) });
    return { metadata: { encoding: Buffer.from('binary/xor') }, data: xor(Buffer.from(text)) };
  };
  const open = (payload) => {
    if (Buffer.from(payload.metadata?.encoding ?? []).toString() !== 'binary/xor') return payload;
    const { metadata, data } = JSON.parse(Buffer.from(xor(payload.data)).toString());
    const fields = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]);
    return { metadata: Object.fromEntries(fields), data: Buffer.from(data, 'base64') };
  };
  const codec = { encode: async (all) => all.map(seal), decode: async (all) => all.map(open) };
  const dataConverter = { payloadCodecs: [codec] };
  let traced = true;
  const activity = () => ({
    inbound: {
      execute: (input, next) => {
        traced &&= 'traced' in input.headers;
        return next(input);
      },
    },
  });
  const workflowModules = [fileURLToPath(new URL('own-workflows.js', import.meta.url))];
  const worker = await createWorker({ dataConverter, interceptors: { activity: [activity], workflowModules } });
  const emend = await Emend.open({ dataConverter });
  const keys = { target_files: ['greet.js'], test: false, commit: true, approval: 'auto' };
  const { stepKey } = await emend.start({ workspace: process.argv[2], instructions: 'Greet in secret.', ...keys });
  const seen = [];
  for await (const { seq } of emend.events(stepKey, { follow: true })) seen.push(seq);
  const { outcome, result } = await emend.wait(stepKey);
  console.log(JSON.stringify({ outcome: result?.outcome, first: seen[0], ended: outcome === 'closed' && seen.length > 4, traced }));
  await emend.close();
  await worker.stop();
`;

/** Code of the guide, each block as a file of its own. */
const guide = (): readonly string[] => {
  const blocks = [...readFileSync('docs/library.md', 'utf8').matchAll(/^```ts\n([^]*?)^```$/gm)];
  return blocks.map(([, code = ''], n) => {
    const file = join(project.dir, `guide-${n}.ts`);
    writeFileSync(file, code);
    return file;
  });
};

test.each([
  ['node16', ts.ModuleKind.Node16, ts.ModuleResolutionKind.Node16],
  ['bundler', ts.ModuleKind.ES2022, ts.ModuleResolutionKind.Bundler],
])(
  'the examples and the guide compile against the packed types: moduleResolution %s',
  (_, module, moduleResolution) => {
    writeFileSync(join(project.dir, 'package.json'), '{"private":true,"type":"module"}\n');
    const examples = readdirSync(join(project.dir, 'examples'), {
      recursive: true,
      encoding: 'utf8',
    })
      .filter((name) => name.endsWith('.js'))
      .map((name) => join(project.dir, 'examples', name));
    const files = [...examples, ...guide()];
    expect(files.length).toBeGreaterThan(10);
    const program = ts.createProgram(files, {
      module,
      moduleResolution,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts'],
      types: ['node'],
      allowJs: true,
      checkJs: true,
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    });
    // Errors in the declarations of others are theirs.
    const own = ts
      .getPreEmitDiagnostics(program)
      .filter(({ file }) => file === undefined || file.fileName.startsWith(project.dir));
    const told = own.map(({ file, messageText }) => {
      const name = file?.fileName.slice(project.dir.length + 1) ?? '';
      return `${name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
    expect(told).toEqual([]);
  },
  400_000,
);
