/** Tests texts of which no tree is made, each with its reason, and findings across the files of one result. */
import { describe, expect, test } from '@jest/globals';
import { guardFindings } from '../../src/edits/guards/index.js';
import { loadSyntax, SYNTAX_FILE_CHARS } from '../../src/syntax/load.js';
import { SYNTAX_DEPTH } from '../../src/syntax/outline.js';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('bounds', () => {
  test('a file over the limit is told so, and guards say in a note that they did not look', async () => {
    const syntax = await loadSyntax(['a.ts']);
    const text = `// ${'x'.repeat(SYNTAX_FILE_CHARS)}\n`;
    expect(syntax.outline('a.ts', text.split('\n'))).toMatchObject({
      kind: 'unread',
      code: 'syntax_too_large',
    });
    const found = guardFindings(
      [{ path: 'a.ts', base: bytes(text), result: bytes(`${text}x\n`) }],
      {
        syntax,
        guards: { syntax: 'refuse' },
      },
    );
    expect(found.map(({ guard, severity }) => [guard, severity])).toEqual([['syntax', 'note']]);
  });

  test('too deep for a tree walk, a language that is not known, a grammar that was not loaded', async () => {
    const syntax = await loadSyntax(['a.ts']);
    const deep = `${'namespace N {\n'.repeat(SYNTAX_DEPTH + 2)}${'}\n'.repeat(SYNTAX_DEPTH + 2)}`;
    expect(syntax.outline('a.ts', deep.split('\n'))).toMatchObject({ code: 'syntax_too_large' });
    expect(syntax.outline('a.txt', [])).toMatchObject({ code: 'language_unknown' });
    expect(syntax.outline('a.py', [])).toMatchObject({ code: 'syntax_unavailable' });
  });

  test('a definition that another file of the result has now is a note', async () => {
    const syntax = await loadSyntax(['a.ts']);
    const moved = 'export function f() {}\n';
    const found = guardFindings(
      [
        { path: 'a.ts', base: bytes(`const a = 1;\n${moved}`), result: bytes('const a = 1;\n') },
        { path: 'b.ts', base: null, result: bytes(moved) },
      ],
      { syntax },
    );
    expect(found).toEqual([
      {
        guard: 'lost_symbol',
        severity: 'note',
        path: 'a.ts',
        lines: [2, 2],
        message: 'f (function, line 2 of the old a.ts) moves to b.ts.',
      },
    ]);
  });
});
