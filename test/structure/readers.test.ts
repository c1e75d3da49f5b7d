import { expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { READERS, SHAPES } from './readers.js';
const only = process.env.ONLY;
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
test('x', async () => {
  const out: string[] = [];
  for (const [name, read] of Object.entries(READERS)) {
    if (only !== undefined && !new RegExp(only).test(name)) continue;
    for (const [shape, make] of Object.entries(SHAPES)) {
      writeFileSync('/tmp/readers-now', `${name} / ${shape}`);
      const times: number[] = [];
      for (const n of [8_000, 32_000, 125_000, 250_000]) {
        const text = make(n);
        const from = cpu();
        try {
          await read(text);
        } catch (e) {
          out.push(`THROWS ${name} / ${shape}: ${String(e).slice(0, 100)}`);
          break;
        }
        times.push(Math.round(cpu() - from));
        if (times.at(-1)! > 400) break;
      }
      if (times.at(-1)! > 150) {
        const line = `${name} / ${shape}: ${times.join(' ')}`;
        out.push(line);
        process.stderr.write(line + '\n');
      }
    }
  }
  process.stderr.write(out.filter((l) => l.startsWith('THROWS')).join('\n') + '\n');
  expect(1).toBe(1);
}, 600_000);
