/** The page's build: our own files only, no inline code and no inlined data (the page's CSP takes neither). */
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  logLevel: 'warn',
  resolve: { extensions: ['.tsx', '.ts', '.js'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: 'es2022',
  },
});
