/**
 * Recognizes the folders in which package managers put programs and libraries. Later commands run these programs, so Emend keeps nothing
 * that a command wrote there. Pure.
 */
const DEPENDENCY_FOLDERS: ReadonlySet<string> = new Set([
  ...['node_modules', 'bower_components', 'jspm_packages', '.yarn', '.pnpm-store'],
  ...['.venv', 'venv', '.virtualenv', '.tox', '.nox', '__pypackages__', 'site-packages', '.eggs'],
  ...['vendor', '.bundle', 'Pods', 'Carthage', '.dart_tool', '.pub-cache', 'elm-stuff'],
  ...['.cargo', '.m2', '.ivy2', '.nuget', '.stack-work', '.terraform', '.direnv'],
]);

/** Returns whether the path is a dependency folder or is inside one. The separator is `/`. */
export const isDependencyFolder = (path: string): boolean =>
  path.split('/').some((name) => DEPENDENCY_FOLDERS.has(name));
