import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

const node = {
  process: 'readonly',
  console: 'readonly',
  URL: 'readonly',
  setTimeout: 'readonly',
  clearTimeout: 'readonly',
  Buffer: 'readonly',
  globalThis: 'readonly',
};

/** A file's URL has %20 where its path has a space. */
const notPathname = {
  selector: "MemberExpression[property.name='pathname'] > NewExpression[callee.name='URL'][arguments.length=2]",
  message:
    'A path is fileURLToPath(new URL(…)): the pathname of a URL is no path where a directory has a space in its name.',
};

export default defineConfig(
  {
    ignores: [
      'dist/',
      'dist.new/',
      '.emend-test/',
      'coverage/',
      'node_modules/',
      'test/scenarios/',
      'demo/answers/',
      'demo/plan/',
      'exam/tasks/',
    ],
  },
  {
    files: ['**/*.js', '**/*.cjs'],
    extends: [js.configs.recommended],
    languageOptions: { globals: { ...node, module: 'writable' } },
    rules: { 'no-restricted-syntax': ['error', notPathname] },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers in messages are what our messages are made of.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Data shapes read better as `type` where they are unions, as `interface` where they are records; both are in use.
      '@typescript-eslint/consistent-type-definitions': 'off',
      // `() => handler()` and `return fold(...)` in a switch say what they do.
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      'no-restricted-syntax': ['error', notPathname],
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-duplicate-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx', 'worker.ts', 'client.ts'],
    // What a reader can hold in mind at once; the counts over all of src are scripts/house.js.
    rules: { 'max-lines': ['error', 300], '@typescript-eslint/max-params': ['error', { max: 4 }] },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // jest's matchers and our fakes are async by contract, not by need.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      'no-restricted-syntax': [
        'error',
        notPathname,
        {
          selector:
            "CallExpression[callee.callee.property.name='each'] > ArrowFunctionExpression > Identifier[optional=true]",
          message:
            'Jest hands a test with more parameters than its row has values a `done` and waits for it: take what may be missing by `...[value = 1]`.',
        },
      ],
    },
  },
);
