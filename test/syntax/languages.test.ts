/** Tests the row of each language in src/syntax/languages.ts: every definition by name, kind and lines (1-based, inclusive). */
import { describe, expect, test } from '@jest/globals';
import { LANGUAGES } from '../../src/syntax/languages.js';
import { loadSyntax } from '../../src/syntax/load.js';

const SCRIPT = `// the class
// in two lines
@dec()
export class A {
  @log()
  m(x) {
    const inner = () => 1;
    return inner;
  }
  static f = () => 1;
  get v() { return 1; }
  set v(x) {}
  #p = 2;
  constructor() {
    this.x = 1;
  }
}

export const g = async (a) => a;
const h = 1,
  i = function () {};
export default function () {}
const K = class { z() {} };
function* gen() {
}
`;
const SCRIPT_FOUND = [
  'A class 3-17 from 1, body ends 17',
  'A.m method 5-9, body ends 9',
  'A.f method 10-10',
  'A.v method 11-11',
  'A.v method 12-12',
  'A.#p field 13-13',
  'A.constructor method 14-16, body ends 16',
  'g function 19-19',
  'h variable 20-20 shares',
  'i function 21-21',
  'default function 22-22',
  'K class 23-23',
  'K.z method 23-23 shares',
  'gen function 24-25, body ends 25',
];

const TYPES = `interface I {
  x: number;
  m(): void;
}
type T = string;
enum E {
  A,
}
export namespace N.M {
  export function f() {}
}
declare function d(): void;
function over(a: string): void;
function over(a: number): void;
function over(a: unknown): void {}
abstract class B {
  abstract q(): void;
}
declare module 'x' {
  function y(): void;
}
`;
const TYPES_FOUND = [
  'I interface 1-4, body ends 4',
  'I.x field 2-2',
  'I.m method 3-3',
  'T type 5-5',
  'E type 6-8, body ends 8',
  'N.M namespace 9-11, body ends 11',
  'N.M.f function 10-10',
  'd function 12-12',
  'over function 13-13',
  'over function 14-14',
  'over function 15-15',
  'B class 16-18, body ends 18',
  'B.q method 17-17',
  'x namespace 19-21, body ends 21',
  'x.y function 20-20',
];

const PYTHON = `import os
X: int = 1
a, b = 1, 2

# above
class A(B):
    """doc"""
    z = 1

    @property
    def v(self):
        return 1

    # the setter
    @v.setter
    def v(self, x):
        pass  # nothing

async def f():
    def inner(): pass
    return inner

if X:
    def g(): pass
else:
    def k(): pass
`;
const PYTHON_FOUND = [
  'X variable 2-2',
  'A class 6-17 from 5, body ends 18',
  'A.z field 8-8',
  'A.v method 10-12, body ends 13',
  'A.v method 15-17 from 14, body ends 18',
  'f function 19-21, body ends 22',
  'g function 24-24, body ends 25',
  'k function 26-26, body ends 27',
];

const GO = `package m

// F says.
func F(a int) error {
	return nil
}

func (s *Server[T]) Run() {}

type Server[T any] struct {
	a int
}

type (
	A int
	B = string
)

const X = 1

var Y, Z int

type I interface {
	M()
}
`;
const GO_FOUND = [
  'F function 4-6 from 3, body ends 6',
  'Server.Run method 8-8',
  'Server type 10-12, body ends 12',
  'A type 15-15',
  'B type 16-16',
  'X variable 19-19',
  'Y variable 21-21',
  'Z variable 21-21',
  'I type 23-25, body ends 25',
  'I.M method 24-24',
];

const RUST = `/// doc
#[derive(Debug)]
// why
#[repr(C)]
pub struct S { a: u8 }

impl<T> Display for S<T> {
    #[inline]
    fn fmt(&self) {}
    const K: u8 = 1;
}

impl S {
    pub fn new() -> Self { S }
}

trait Tr {
    fn m(&self);
}

mod inner {
    pub fn f() {}
}

enum E { A }
type A = u8;
const C: u8 = 1;
static D: u8 = 1;
macro_rules! mm {
    () => {};
}
`;
const RUST_FOUND = [
  'S class 2-5 from 1',
  'impl Display for S<T> class 7-11, body ends 11',
  'S.fmt method 8-9',
  'S.K field 10-10',
  'impl S class 13-15, body ends 15',
  'S.new method 14-14',
  'Tr interface 17-19, body ends 19',
  'Tr.m method 18-18',
  'inner namespace 21-23, body ends 23',
  'inner.f function 22-22',
  'E type 25-25',
  'A type 26-26',
  'C variable 27-27',
  'D variable 28-28',
  'mm function 29-31',
];

const JAVA = `package p;

/**
 * doc
 */
@Ann
public class A extends B {
  int x = 1;
  A() {}

  @Override
  void m(int a) {
  }

  void m() {}

  interface I { void q(); }

  enum E {
    X { void z() {} };
    void w() {}
  }

  record R(int a) {}
}

@interface An {
  int v();
}
`;
const JAVA_FOUND = [
  'A class 6-25 from 3, body ends 25',
  'A.x field 8-8',
  'A.A method 9-9',
  'A.m method 11-13, body ends 13',
  'A.m method 15-15',
  'A.I interface 17-17',
  'A.I.q method 17-17 shares',
  'A.E class 19-22, body ends 22',
  'A.E.X field 20-20',
  'A.E.w method 21-21',
  'A.R class 24-24',
  'An interface 27-29, body ends 29',
  'An.v method 28-28',
];

const CSHARP = `using X;

namespace N.M
{
    /// <summary>doc</summary>
    [Attr]
    public partial class A : B
    {
        int x = 1;
        public int P { get; set; }
        A() {}
        ~A() {}
        void M(int a)
        {
        }
        event E ev;
        delegate void D();
        int this[int i] => 1;
        public static A operator +(A a, A b) => a;
        struct S {}
        interface I { void q(); }
        enum E { X }
#if DEBUG
        void Debug() {}
#endif
    }
}
`;
const CSHARP_FOUND = [
  'N.M namespace 3-27, body ends 27',
  'N.M.A class 6-26 from 5, body ends 26',
  'N.M.A.x field 9-9',
  'N.M.A.P field 10-10',
  'N.M.A.A method 11-11',
  'N.M.A.~A method 12-12',
  'N.M.A.M method 13-15, body ends 15',
  'N.M.A.ev field 16-16',
  'N.M.A.D type 17-17',
  'N.M.A.this[] method 18-18',
  'N.M.A.operator + method 19-19',
  'N.M.A.S class 20-20',
  'N.M.A.I interface 21-21',
  'N.M.A.I.q method 21-21 shares',
  'N.M.A.E type 22-22',
  'N.M.A.E.X field 22-22 shares',
  'N.M.A.Debug method 24-24',
];

const SAMPLES: Readonly<Record<string, readonly [source: string, found: readonly string[]]>> = {
  TypeScript: [
    SCRIPT + TYPES,
    [...SCRIPT_FOUND, ...moved(TYPES_FOUND, SCRIPT.split('\n').length - 1)],
  ],
  'TypeScript with JSX': [
    SCRIPT + TYPES,
    [...SCRIPT_FOUND, ...moved(TYPES_FOUND, SCRIPT.split('\n').length - 1)],
  ],
  JavaScript: [SCRIPT, SCRIPT_FOUND],
  Python: [PYTHON, PYTHON_FOUND],
  Go: [GO, GO_FOUND],
  Rust: [RUST, RUST_FOUND],
  Java: [JAVA, JAVA_FOUND],
  'C#': [CSHARP, CSHARP_FOUND],
};

function moved(found: readonly string[], offset: number): readonly string[] {
  return found.map((line) =>
    line
      .replace(/(\d+)-(\d+)/, (_, a, b) => `${+a + offset}-${+b + offset}`)
      .replace(/ends (\d+)/, (_, n) => `ends ${+n + offset}`),
  );
}

const outlineOf = async (path: string, source: string) =>
  (await loadSyntax([path])).outline(path, source.split('\n'));
const shown = async (path: string, source: string): Promise<readonly string[]> => {
  const outline = await outlineOf(path, source);
  if (outline.kind === 'unread') return [outline.why];
  expect(outline.faults).toEqual([]);
  return outline.symbols.map(({ qualified, kind, from, to, lead, bodyEnd, shares, broken }) =>
    [
      `${qualified} ${kind} ${from + 1}-${to}`,
      ...(lead === from ? [] : [` from ${lead + 1}`]),
      ...(bodyEnd === null ? [] : [`, body ends ${bodyEnd + 1}`]),
      ...(shares ? [' shares'] : []),
      ...(broken ? [' broken'] : []),
    ].join(''),
  );
};

describe('definitions', () => {
  test('every language has its sample', () => {
    expect(LANGUAGES.map(({ name }) => name)).toEqual(Object.keys(SAMPLES));
  });
  test.each(
    LANGUAGES.flatMap(({ name, endings }) => endings.map((ending) => [name, ending] as const)),
  )('%s, %s', async (name, ending) => {
    const [source, found] = SAMPLES[name]!;
    expect(await shown(`dir/file${ending.toUpperCase()}`, source)).toEqual(found);
  });
});
