/// The page before there is a session: it holds no data and names neither the device nor its version.
///
/// The code arrives in the fragment of the address, which browsers keep to themselves. The script exchanges it once,
/// keeps the key of the session, and leaves an address without the code.
package enum LoginPage {
  package static let file = PageFile(
    html: Array(
      """
      <!doctype html>
      <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>Waymark</title>
      <style>\(style)</style>
      <p id="state">This page needs JavaScript.</p>
      <script>\(script)</script>
      </html>

      """.utf8), policy: ContentPolicy(scripts: [Array(script.utf8)], styles: [Array(style.utf8)]))

  /// Where the script keeps the key. Unlike a cookie, this storage belongs to one port.
  package static let keyName = "waymark"

  private static let style = """
    :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
    body { max-width: 34rem; margin: 4rem auto; padding: 0 1rem; }
    """

  private static let script = """
    "use strict";
    const code = location.hash.slice(1);
    const say = text => { document.getElementById("state").textContent = text; };
    const how = "To open it, run: waymark page --live";
    async function exchange() {
      const answer = await fetch("/session", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Waymark": "1" },
        body: JSON.stringify({ code }),
      });
      if (!answer.ok) throw new Error("refused");
      localStorage.setItem("\(keyName)", (await answer.json()).key);
      location.replace("/");
    }
    if (code) {
      say("Opening the page…");
      exchange().catch(() => {
        history.replaceState(null, "", "/");
        say("This link was used already, or is older than two minutes. " + how);
      });
    } else {
      say("This page is not open in this browser. " + how);
    }
    """
}
