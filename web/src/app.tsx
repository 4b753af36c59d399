import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { Link, Redirect, Route, Router, Switch, useLocation } from "wouter";
import { Keys } from "./parts/keys";
import { Palette } from "./parts/palette_of_commands";
import { Reader } from "./parts/reader";
import { Waiting } from "./parts/state";
import { RunPage } from "./pages/run";
import { RunsPage } from "./pages/runs";

const TimelinePage = lazy(() => import("./pages/timeline"));
const ComparePage = lazy(() => import("./pages/compare"));
const TrendPage = lazy(() => import("./pages/trend"));
const SimilarPage = lazy(() => import("./pages/similar"));
const RulesPage = lazy(() => import("./pages/rules"));
const FlamePage = lazy(() => import("./pages/flame"));
const SqlPage = lazy(() => import("./pages/sql"));
const SystemPage = lazy(() => import("./pages/system"));

/** The path that a proxy puts before ours, from <base>. */
const BASE = new URL(document.baseURI).pathname.replace(/\/$/, "");

export function App(): ReactNode {
  return (
    <Router base={BASE}>
      <Shell />
    </Router>
  );
}

function Shell(): ReactNode {
  const [theme, setTheme] = useTheme();
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      <header className="bar">
        <Link href="/runs" className="brand">
          NeuroLens
        </Link>
        <nav aria-label="Pages">
          <Page href="/runs">Runs</Page>
          <Page href="/compare">Compare</Page>
          <Page href="/trend">Trend</Page>
          <Page href="/similar">Similar</Page>
          <Page href="/flame">Flame</Page>
          <Page href="/sql">SQL</Page>
          <Page href="/rules">Rules</Page>
          <Page href="/system">System</Page>
        </nav>
        <Reader />
        <button onClick={() => setTheme(theme === "dark" ? "light" : "dark")} aria-label={`Use the ${theme === "dark" ? "light" : "dark"} colours`}>
          {theme === "dark" ? "☀" : "☾"}
        </button>
      </header>
      <Suspense fallback={<Waiting what="Loading the page" />}>
        <Switch>
          <Route path="/">
            <Redirect to="/runs" replace />
          </Route>
          <Route path="/runs" component={RunsPage} />
          <Route path="/runs/:id/timeline">{({ id }) => <TimelinePage key={id} id={id} />}</Route>
          <Route path="/runs/:id/:tab?">{({ id, tab }) => <RunPage key={id} id={id} tab={tab} />}</Route>
          <Route path="/compare" component={ComparePage} />
          <Route path="/trend" component={TrendPage} />
          <Route path="/similar" component={SimilarPage} />
          <Route path="/rules">{() => <RulesPage />}</Route>
          <Route path="/rules/:id">{({ id }) => <RulesPage id={id} />}</Route>
          <Route path="/flame" component={FlamePage} />
          <Route path="/sql" component={SqlPage} />
          <Route path="/system" component={SystemPage} />
          <Route>
            <main id="main" data-ready="true">
              <h1>There is no such page</h1>
              <p>
                <Link href="/runs">All runs</Link>
              </p>
            </main>
          </Route>
        </Switch>
      </Suspense>
      <Keys />
      <Palette />
    </>
  );
}

function Page({ href, children }: { href: string; children: ReactNode }): ReactNode {
  const [path] = useLocation();
  return (
    <Link href={href} aria-current={path === href || path.startsWith(`${href}/`) ? "page" : undefined}>
      {children}
    </Link>
  );
}

function useTheme(): ["light" | "dark", (theme: "light" | "dark") => void] {
  const [theme, setTheme] = useState<"light" | "dark">(() => {
    const kept = localStorage.getItem("theme");
    if (kept === "light" || kept === "dark") return kept;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  });
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem("theme", theme);
  }, [theme]);
  return [theme, setTheme];
}
