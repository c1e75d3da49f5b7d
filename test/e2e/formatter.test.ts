/** The formatter runs before anybody approved anything: it must run nothing of the proposal. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { scene, whole, type Scene } from './support.js';

let open: Scene | null = null;
afterEach(async () => {
  await open?.close();
  open = null;
});

/** Like many formatters: loads the configuration that lies beside a file, or above it, and rewrites the file. */
const FORMATTER = `const fs = require('fs'), path = require('path');
for (const file of process.argv.slice(2)) {
  let end = ';';
  for (let dir = path.dirname(path.resolve(file)); ; dir = path.dirname(dir)) {
    const config = path.join(dir, 'fmt.config.js');
    if (fs.existsSync(config)) { end = require(config).end; break; }
    if (dir === path.dirname(dir)) break;
  }
  fs.appendFileSync(file, '// formatted' + end + '\\n');
}
fs.appendFileSync('calls', 'x');
`;
const evil = (mark: string): string =>
  `require('fs').writeFileSync('${mark}', ''); module.exports = { end: '!' };\n`;

describe.each(['on', 'off'])('sandbox: %s', (sandbox) => {
  const begin = async (command: string) => {
    const files = {
      'a.js': 'a\n',
      'b.js': 'b\n',
      'fmt.config.js': `module.exports = { end: '.' };\n`,
      'fmt.cjs': FORMATTER,
    };
    const more = { 'emend.yaml': `sandbox: ${sandbox}\nformatCommand: ${command}\n` };
    const mark = join(tmpdir(), `emend-pwned-${randomUUID()}`);
    const results = { 'a.js': 'A\n', 'b.js': 'B\n', 'fmt.config.js': evil(mark) };
    const rules = Object.entries(results).map(([path, text]) => ({
      name: path,
      match: { contains: `- ${path}\n` },
      answer: whole({ [path]: text }),
    }));
    const s = (open = await scene({ ...files, ...more }, rules));
    await s.worker();
    const job =
      '---\ntarget_files: [a.js, b.js, fmt.config.js]\nlimits: { maxFilesBeforeSplit: 1 }\n---\n# Change\n\nChange all of them.\n';
    const run = await s.start('job.md', job);
    const view = await s.settle(run);
    return { s, run, view, mark };
  };

  test.each(['node fmt.cjs {file}', 'node fmt.cjs {files}'])('%s', async (command) => {
    const { s, run, view, mark } = await begin(command);
    expect(view.status.decision).toMatchObject({ reason: 'approval' });
    expect(existsSync(mark)).toBe(false);
    const findings = view.proposal?.findings.filter(({ guard }) => guard === 'formatter');
    expect(findings).toMatchObject([{ path: 'fmt.config.js', severity: 'note' }]);
    // What it writes beside them goes nowhere.
    if (sandbox === 'on') expect(existsSync(join(s.repo, 'calls'))).toBe(false);
    await s.answer(run, 'approve');
    expect(await s.end(run)).toMatchObject({ outcome: 'applied' });
    // In the sandbox the base's configuration is found beside the files.
    const formatted = `// formatted${sandbox === 'on' ? '.' : ';'}\n`;
    expect([s.read('a.js'), s.read('b.js')]).toEqual([`A\n${formatted}`, `B\n${formatted}`]);
    expect(s.read('fmt.config.js')).toBe(evil(mark));
    expect(existsSync(mark)).toBe(false);
  });
});
