// swift-tools-version: 6.3
import PackageDescription

// These three programs stand in for an app: they use only the library, as its documentation describes. The trait lets
// them buy premium without a shop.
let package = Package(
  name: "embed",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "waymark", path: "../..", traits: ["MockPurchases"])],
  targets: [
    .executableTarget(name: "Life", dependencies: [.product(name: "Waymark", package: "waymark")]),
    .executableTarget(
      name: "Views",
      dependencies: [
        .product(name: "Waymark", package: "waymark"), .product(name: "WaymarkModels", package: "waymark"),
      ]),
    .executableTarget(name: "Packing", dependencies: [.product(name: "Waymark", package: "waymark")]),
  ]
)
