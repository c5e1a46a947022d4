//! The seven networks of Table III, with the operators of the public ONNX files of 2020.

use super::network_builder::NetworkBuilder;

pub(super) fn resnet18() -> NetworkBuilder {
    let (mut net, x) = NetworkBuilder::new("resnet18", 224);
    let x = net.conv_norm(x, 64, (7, 2, 3));
    let x = net.relu(x);
    let mut x = net.pool(x, (3, 2, 1));
    for (channels, s) in [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)] {
        let y = net.conv_norm(x, channels, (3, s, 1));
        let y = net.relu(y);
        let y = net.conv_norm(y, channels, (3, 1, 1));
        let beside = if s == 1 { x } else { net.conv_norm(x, channels, (1, s, 0)) };
        let sum = net.add(y, beside);
        x = net.relu(sum);
    }
    let x = net.mean(x);
    let x = net.dense(x, 1000);
    net.output(x)
}

pub(super) fn vgg19() -> NetworkBuilder {
    let (mut net, mut x) = NetworkBuilder::new("VGG 19", 224);
    for (channels, convolutions) in [(64, 2), (128, 2), (256, 4), (512, 4), (512, 4)] {
        for _ in 0..convolutions {
            x = net.conv_relu(x, channels, (3, 1, 1));
        }
        x = net.pool(x, (2, 2, 0));
    }
    for _ in 0..2 {
        x = net.dense(x, 4096);
        x = net.relu(x);
        x = net.dropout(x);
    }
    let x = net.dense(x, 1000);
    net.output(x)
}

pub(super) fn squeezenet() -> NetworkBuilder {
    let (mut net, x) = NetworkBuilder::new("squeezenet", 224);
    let x = net.conv_relu(x, 64, (3, 2, 0));
    let mut x = net.pool(x, (3, 2, 0));
    for (index, (few, many)) in
        [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256)].into_iter().enumerate()
    {
        if index == 2 || index == 4 {
            x = net.pool(x, (3, 2, 0));
        }
        let squeezed = net.conv_relu(x, few, (1, 1, 0));
        let narrow = net.conv_relu(squeezed, many, (1, 1, 0));
        let wide = net.conv_relu(squeezed, many, (3, 1, 1));
        x = net.concat(&[narrow, wide]);
    }
    let x = net.dropout(x);
    let x = net.conv_relu(x, 1000, (1, 1, 0));
    let x = net.mean(x);
    let x = net.softmax(x);
    net.output(x)
}

/// The network of Szegedy et al. (2014), which both files contain.
fn inception(name: &str) -> NetworkBuilder {
    let (mut net, x) = NetworkBuilder::new(name, 224);
    let x = net.conv_relu(x, 64, (7, 2, 3));
    let x = net.pool_below(x, (3, 2, 0));
    let x = net.lrn(x);
    let x = net.conv_relu(x, 64, (1, 1, 0));
    let x = net.conv_relu(x, 192, (3, 1, 1));
    let x = net.lrn(x);
    let mut x = net.pool_below(x, (3, 2, 0));
    let modules = [
        [64, 96, 128, 16, 32, 32],
        [128, 128, 192, 32, 96, 64],
        [192, 96, 208, 16, 48, 64],
        [160, 112, 224, 24, 64, 64],
        [128, 128, 256, 24, 64, 64],
        [112, 144, 288, 32, 64, 64],
        [256, 160, 320, 32, 128, 128],
        [256, 160, 320, 32, 128, 128],
        [384, 192, 384, 48, 128, 128],
    ];
    for (index, [alone, before3, three, before5, five, after]) in modules.into_iter().enumerate() {
        if index == 2 || index == 7 {
            x = net.pool_below(x, (3, 2, 0));
        }
        let a = net.conv_relu(x, alone, (1, 1, 0));
        let b = net.conv_relu(x, before3, (1, 1, 0));
        let b = net.conv_relu(b, three, (3, 1, 1));
        let c = net.conv_relu(x, before5, (1, 1, 0));
        let c = net.conv_relu(c, five, (5, 1, 2));
        let d = net.pool(x, (3, 1, 1));
        let d = net.conv_relu(d, after, (1, 1, 0));
        x = net.concat(&[a, b, c, d]);
    }
    let x = net.mean(x);
    let x = net.dropout(x);
    let x = net.dense(x, 1000);
    let x = net.softmax(x);
    net.output(x)
}

pub(super) fn googlenet() -> NetworkBuilder {
    inception("googlenet")
}

pub(super) fn inception_v1() -> NetworkBuilder {
    inception("inception v1")
}

pub(super) fn tiny_yolo() -> NetworkBuilder {
    let (mut net, mut x) = NetworkBuilder::new("tiny yolo v2", 416);
    for (index, channels) in [16, 32, 64, 128, 256, 512, 1024, 1024].into_iter().enumerate() {
        x = net.conv_norm(x, channels, (3, 1, 1));
        x = net.relu(x);
        x = match index {
            0..5 => net.pool(x, (2, 2, 0)),
            // With a stride of one, the last window needs a border to keep 13 x 13 pixels.
            5 => net.pool_below(x, (2, 1, 0)),
            _ => x,
        };
    }
    let x = net.conv(x, 125, (1, 1, 0));
    net.output(x)
}

/// A normalisation is two layers here, a norm and a scale, because the published total includes room for both.
pub(super) fn densenet121() -> NetworkBuilder {
    let (mut net, x) = NetworkBuilder::new("densenet121", 224);
    let x = net.conv_bare(x, 64, (7, 2, 3));
    let x = net.scaled_relu(x);
    let mut x = net.pool(x, (3, 2, 1));
    for (block, layers) in [6, 12, 24, 16].into_iter().enumerate() {
        for _ in 0..layers {
            let y = net.scaled_relu(x);
            let y = net.conv_bare(y, 128, (1, 1, 0));
            let y = net.scaled_relu(y);
            let y = net.conv_bare(y, 32, (3, 1, 1));
            x = net.concat(&[x, y]);
        }
        x = net.scaled_relu(x);
        if block < 3 {
            x = net.conv_bare(x, net.channels(x) / 2, (1, 1, 0));
            x = net.pool(x, (2, 2, 0));
        }
    }
    let x = net.mean(x);
    let x = net.dense(x, 1000);
    net.output(x)
}
