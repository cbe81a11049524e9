# Untried: no one has evaluated or built this flake. It needs Swift 6.3 in nixpkgs; with an older one, the package is
# marked as broken. Build it from a clone: nix build 'git+file:///path/to/clone?dir=.packaging'
{
  description = "Waymark: trips and habits on all your devices, without a server";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forEach = nixpkgs.lib.genAttrs systems;
    in {
      packages = forEach (system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
          inherit (pkgs) lib swiftPackages;
        in {
          default = swiftPackages.stdenv.mkDerivation {
            pname = "waymark";
            # The version that `waymark version` reports.
            version =
              let
                source = builtins.readFile ../Sources/Home/WaymarkVersion.swift;
                line = lib.findFirst (lib.hasInfix "let text = ") "" (lib.splitString "\n" source);
              in builtins.elemAt (lib.splitString "\"" line) 1;
            src = ../.;

            nativeBuildInputs = [ swiftPackages.swift swiftPackages.swiftpm pkgs.pkg-config ];
            buildInputs = [ swiftPackages.Foundation swiftPackages.Dispatch pkgs.sqlite pkgs.libsodium ];

            buildPhase = ''
              runHook preBuild
              swift build -c release --product waymark --jobs $NIX_BUILD_CORES
              runHook postBuild
            '';
            installPhase = ''
              runHook preInstall
              make install PREFIX=$out BINARY=.build/release/waymark
              runHook postInstall
            '';

            meta = {
              description = "Trips and habits on all your devices, without a server";
              license = lib.licenses.asl20;
              mainProgram = "waymark";
              platforms = systems;
              broken = lib.versionOlder swiftPackages.swift.version "6.3";
            };
          };
        });
    };
}
