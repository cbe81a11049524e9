# Untried: no one has run this Homebrew formula, and the code for macOS has not been compiled either (CONTRIBUTING.md,
# "Apple platforms"). There is no release yet, so it builds the newest commit of a clone:
#   HOMEBREW_WAYMARK_SOURCE=/path/to/clone brew install --HEAD --formula .packaging/waymark.rb
class Waymark < Formula
  desc "Trips and habits on all your devices, without a server"
  homepage "file://#{ENV.fetch("HOMEBREW_WAYMARK_SOURCE", Dir.pwd)}"
  license "Apache-2.0"
  head "file://#{ENV.fetch("HOMEBREW_WAYMARK_SOURCE", Dir.pwd)}", using: :git, branch: "main"

  depends_on xcode: ["26.4", :build]

  on_linux do
    depends_on "pkgconf" => :build
    depends_on "swift" => :build
    depends_on "libsodium"
    depends_on "sqlite"
  end

  def install
    # SwiftPM's own sandbox cannot run within that of Homebrew.
    arguments = ["--disable-sandbox", "-c", "release", "--product", "waymark"]
    arguments << "--static-swift-stdlib" if OS.linux?
    system "swift", "build", *arguments
    bin.install ".build/release/waymark"
    generate_completions_from_executable(bin/"waymark", "completions")
    (man1/"waymark.1").write Utils.safe_popen_read(bin/"waymark", "manual")
  end

  def caveats
    <<~CAVEATS
      Found a circle with `waymark init`, or join one with `waymark join TICKET`.
      Then `waymark service install` starts the node, now and at every login.
    CAVEATS
  end

  test do
    ENV["WAYMARK_HOME"] = testpath/"home"
    system bin/"waymark", "init", "--name", "laptop"
    system bin/"waymark", "trip", "add", "name=Rome"
    assert_match "Rome", shell_output("#{bin}/waymark trip list")
  end
end
